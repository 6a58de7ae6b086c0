/** The texts of messages: each as plain text and as small HTML, from the same parts. */
import { html } from 'hono/html';
import { AGENT_BASE, DESK_BASE } from '#contracts/places.ts';
import type { MailTexts } from '#src/sending/dispatch-mail.ts';
import type { ListedFacts, MailFacts, MailKind, Waiting } from '#src/sending/mail.ts';
import { HOUSE_LOCALE, writerFor } from '#src/shared/money.ts';

type Facts<Kind extends MailKind> = MailFacts[Kind];
/** A paragraph, and the address that it ends in. */
type Paragraph = string | { text: string; link: string };
/** `title` and `list` are for mailboxes that have confirmed something; no letter to a stranger has them. */
type Letter = {
  subject: string;
  title?: string;
  list?: ListedFacts | undefined;
  paragraphs: readonly Paragraph[];
};
/** The sources of a text besides its facts. `origin` is the public origin, without a slash at the end. */
type Place = { origin: string };
type Letters = { [Kind in MailKind]: (facts: Facts<Kind>, place: Place) => Letter };

const money = (totals: Facts<'rfq_notice'>['totals']): string =>
  totals.map(({ amount, currency }) => writerFor(HOUSE_LOCALE).money(amount, currency)).join(' + ');

const OUTCOMES = { granted: 'granted', partial: 'granted in part', denied: 'denied' };

const count = (lines: number): string => `${lines} ${lines === 1 ? 'line' : 'lines'}`;

const OF_BUYERS: Pick<Letters, 'rfq_confirmation' | 'rfq_receipt'> = {
  // Somebody else can have typed the address, so the message has no text that a person typed.
  rfq_confirmation: ({ path, lines, totals, until }, { origin }) => ({
    subject: 'Confirm your request for a quotation',
    paragraphs: [
      `Somebody entered this address and asked for a quotation: ${count(lines)}, indicative total ${money(totals)}.`,
      {
        text: 'If that was you, open this page and confirm the request. Staff receive it then:',
        link: `${origin}${path}`,
      },
      `The link works until ${writerFor(HOUSE_LOCALE).moment(until)}. Nothing is ordered, reserved or paid.`,
      'If it was not you, do nothing, or say so on that page: then you get no more such messages.',
    ],
  }),
  rfq_receipt: ({ path, handoff_id, lines, totals, list }, { origin }) => ({
    subject: `Your request ${handoff_id}`,
    title: 'Your request for a quotation',
    list,
    paragraphs: [
      `Staff have your request for a quotation: ${count(lines)}, indicative total ${money(totals)}. Its reference is ${handoff_id}.`,
      'They answer you at this address, with binding prices. Nothing is ordered, reserved or paid.',
      { text: 'See the request, or withdraw it:', link: `${origin}${path}` },
    ],
  }),
};

type OfOwner = 'rfq_confirmed' | 'rfq_won' | 'owner_mailbox' | 'application' | 'access_decision';

const OF_OWNERS: Pick<Letters, OfOwner> = {
  rfq_confirmed: ({ handoff_id, lines, totals, list }) => ({
    subject: `RFQ confirmed: ${handoff_id}`,
    title: 'A buyer asked for a quotation',
    list,
    paragraphs: [
      `The buyer of the list ${handoff_id} asked for a quotation: ${count(lines)}, indicative total ${money(totals)}.`,
      'Staff answer the buyer. Your performance counts it in rfqs_submitted and rfq_value.',
    ],
  }),
  rfq_won: ({ handoff_id, values, list }) => ({
    subject: `RFQ won: ${handoff_id}`,
    title: 'An RFQ was won',
    list,
    paragraphs: [
      `Staff recorded that the RFQ of the list ${handoff_id} was won, for ${money(values)}.`,
      'Your performance counts it in rfqs_won and won_value. Staff can correct it.',
    ],
  }),
  // Somebody else can have the address, so the message has no text that a person typed.
  owner_mailbox: ({ path, until }, { origin }) => ({
    subject: 'Confirm your mailbox',
    paragraphs: [
      {
        text:
          'The staff of this service entered this address as the mailbox for notices to a promoter. If that is you, open ' +
          'this page and confirm it:',
        link: `${origin}${path}`,
      },
      `The link works until ${writerFor(HOUSE_LOCALE).moment(until)}. Until you confirm it, no notice is sent here.`,
      'If it is not you, do nothing, or say so on that page: then you get no more such messages.',
    ],
  }),
  application: ({ path, until }, { origin }) => ({
    subject: 'Confirm your application',
    paragraphs: [
      {
        text:
          'Somebody entered this address and applied for access for a software agent. If that was you, open this page and ' +
          'confirm the application:',
        link: `${origin}${path}`,
      },
      `The link works until ${writerFor(HOUSE_LOCALE).moment(until)}. Staff see the application once it is confirmed.`,
      'If it was not you, do nothing, or say so on that page: then you get no more such messages.',
    ],
  }),
  access_decision: ({ agent_id, name, outcome, scopes, reason, key_link: link }, { origin }) => ({
    subject: `Access of ${agent_id}: ${OUTCOMES[outcome]}`,
    paragraphs: [
      `Staff decided on the access of your agent ${name} (${agent_id}): ${OUTCOMES[outcome]}.`,
      `Its scopes now: ${scopes.length > 0 ? scopes.join(', ') : 'none'}.`,
      `Reason: ${reason}`,
      ...(link
        ? [
            {
              text: `Get the key of the agent, once, until ${writerFor(HOUSE_LOCALE).moment(link.until)}:`,
              link: `${origin}${link.path}`,
            },
          ]
        : []),
      {
        text: 'The agent sees this with its key: GET',
        link: `${origin}${AGENT_BASE}/connection`,
      },
    ],
  }),
};

const numberOf = ({ requests, has_more }: Pick<Waiting, 'requests' | 'has_more'>): string =>
  `${has_more ? 'More than ' : ''}${writerFor(HOUSE_LOCALE).count(requests)}`;

const waitingFor = (what: string, command: string, waiting: Waiting): string[] => {
  const { requests, owners, oldest_at } = waiting;
  if (requests === 0) return [];
  const writer = writerFor(HOUSE_LOCALE);
  return [
    `${what}: ${numberOf(waiting)} of ${writer.count(owners)} ${owners === 1 ? 'promoter' : 'promoters'}. The oldest ` +
      `waits since ${writer.moment(oldest_at)}.`,
    `List with: ${command}`,
  ];
};

const LETTERS: Letters = {
  ...OF_BUYERS,
  ...OF_OWNERS,
  rfq_notice: ({ owner_id, handoff_id, lines, totals }, { origin }) => ({
    subject: `New RFQ ${handoff_id}`,
    paragraphs: [
      `A buyer sent an RFQ and confirmed it: ${count(lines)}, in total ${money(totals)}. ` +
        `The list is ${handoff_id} of the promoter ${owner_id}.`,
      `Staff read it, with the contact of the buyer, by: tributary rfq show ${handoff_id}`,
      {
        text: 'Over HTTP with a desk token of the role staff: GET',
        link: `${origin}${DESK_BASE}/handoffs/${handoff_id}/rfq`,
      },
    ],
  }),
  privacy_link: ({ path, until }, { origin }) => ({
    subject: 'Your data',
    paragraphs: [
      'Somebody asked for a link to see, copy or erase what is stored with this e-mail address. If that was not you, do ' +
        'nothing: only the holder of the link can see or change anything.',
      {
        text: `The link works until ${writerFor(HOUSE_LOCALE).moment(until)}:`,
        link: `${origin}${path}`,
      },
    ],
  }),
  approvals_digest: ({ access, ...outreach }) => {
    const more = outreach.has_more || access.has_more;
    const number = numberOf({ requests: outreach.requests + access.requests, has_more: more });
    return {
      subject: `${number === '1' ? '1 request waits' : `${number} requests wait`} for approval`,
      paragraphs: [
        ...waitingFor('Outreach', 'tributary approvals list', outreach),
        ...waitingFor('Access for agents', 'tributary access requests --state pending', access),
      ],
    };
  },
  contacts_stopped: ({ owner_id, agent_id, contacts }) => ({
    subject: `Contacts of ${agent_id} are refused today`,
    paragraphs: [
      `The agent ${agent_id} of the promoter ${owner_id} submitted ${contacts} contacts today that are known already, ` +
        'so it can submit no more contacts until midnight UTC. It may be asking who is known here.',
      `Suspend it with: tributary access suspend ${agent_id}`,
    ],
  }),
};

/** What names the list above its lines. */
const nameOfList = ({ title, promoter }: ListedFacts): string =>
  promoter === undefined ? title : `${title}, from the promoter ${promoter}`;

const itemTexts = ({ items, more }: ListedFacts): string[] => [
  ...items.map(
    ({ quantity, title, sku }) => `${writerFor(HOUSE_LOCALE).count(quantity)} × ${title} (${sku})`,
  ),
  ...(more > 0 ? [`and ${count(more)} more`] : []),
];

const paragraphText = (paragraph: Paragraph): string =>
  typeof paragraph === 'string' ? paragraph : `${paragraph.text} ${paragraph.link}`;

/** Renders the letter as plain text and as HTML without styles, scripts or pictures. */
export const renderLetter = async <Kind extends MailKind>(
  kind: Kind,
  facts: Facts<Kind>,
  place: Place,
): Promise<MailTexts> => {
  const { subject, title, list, paragraphs } = LETTERS[kind](facts, place);
  const listText =
    list && [nameOfList(list), ...itemTexts(list).map((item) => `- ${item}`)].join('\n');
  const text = [title, ...paragraphs.map(paragraphText), listText].filter(
    (part) => part !== undefined,
  );
  const page = await html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${subject}</title></head>
<body>
${title !== undefined && html`<h1>${title}</h1>\n`}${paragraphs.map((paragraph) =>
  typeof paragraph === 'string'
    ? html`<p>${paragraph}</p>\n`
    : html`<p>${paragraph.text} <a href="${paragraph.link}">${paragraph.link}</a></p>\n`,
)}${
  list &&
  html`<h2>${nameOfList(list)}</h2>
<ul>
${itemTexts(list).map((item) => html`<li>${item}</li>\n`)}</ul>
`
}</body>
</html>
`;
  return { subject, text: `${text.join('\n\n')}\n`, html: page.toString() };
};
