/** An RFQ as staff read and answer it: like an invoice, with the acts that its state allows beside it. */
import { html } from 'hono/html';
import {
  type OPEN_RFQ_STATES,
  RFQ_CORRECTIONS,
  type RfqStateName,
  rfqMovers,
} from '#contracts/moves.ts';
import { WARNINGS } from '#contracts/handoffs/records.ts';
import type { DeskOperations } from '#contracts/registries/desk.ts';
import { agentLink, ownerLink } from '#src/records/desk-frame.pages.ts';
import { referenceOf } from '#src/ports/reference.ts';
import { decimalOf, minorUnits, moneyIn } from '#src/shared/cells.ts';
import { HOUSE_LOCALE, momentText, writerFor } from '#src/shared/money.ts';
import { isRefusal, type Refusal, refuseField } from '#src/shared/outcome.ts';
import type { PageAct } from '#src/web/acts.ts';
import { facts, type Html, invalid, notice } from '#src/web/layout.ts';
import {
  type ActForm,
  type Content,
  dataTable,
  eventWords,
  fieldId,
  type FormState,
  happened,
  timeOf,
  typedIn,
} from '#src/web/parts.ts';
import type { Typed } from '#src/web/person-admission.ts';
import { isRfqOutcome } from './rfq.decider.ts';

export type Deal = ReturnType<DeskOperations['readRfq']['output']['parse']>;

const writer = writerFor(HOUSE_LOCALE);
const sums = (totals: readonly { amount: number; currency: string }[]): string =>
  totals.map(({ amount, currency }) => writer.money(amount, currency)).join(' + ');

const STATES: Readonly<Record<RfqStateName, string>> = {
  unconfirmed: 'waits for its buyer to confirm it',
  confirmed: 'confirmed; nobody has taken it up',
  in_progress: 'taken up',
  quoted: 'quoted; the buyer decides',
  agreed: 'the buyer agreed',
  declined: 'the buyer declined the quotation',
  expired: 'the quotation has expired',
  won: 'won',
  lost: 'lost',
  withdrawn: 'withdrawn',
};

/** Who caused an event, in a word. */
const actorText = ({ by, by_name }: Deal['history'][number], deal: Deal): string => {
  if (by_name !== undefined) return by_name;
  if (by.startsWith('agt_')) return deal.agent_name ?? 'the agent';
  return by.startsWith('desk:') ? 'the token of a program' : by === 'system' ? 'the service' : by;
};

const contactOf = ({ contact, named_buyer }: Deal): Html => {
  if (typeof contact === 'string') return html`<p>The contact is not shown: ${contact}.</p>`;
  const { name, email, phone, country = named_buyer.country, message } = contact;
  const { company = named_buyer.company } = contact;
  return html`${facts([
    ['Name', html`<bdi>${name}</bdi>`],
    ...(company === undefined ? [] : [['Company', html`<bdi>${company}</bdi>`] as const]),
    ['E-mail', html`<a href="mailto:${email}">${email}</a>`],
    ...(phone === undefined ? [] : [['Telephone', phone] as const]),
    ...(country === undefined ? [] : [['Delivery to', writer.country(country)] as const]),
  ])}${
    message !== undefined &&
    html`<figure class="letter"><figcaption>The buyer wrote</figcaption><blockquote dir="auto">${message}</blockquote></figure>`
  }`;
};

const warningsOf = ({
  warnings,
  unit_price_when_sent: changed,
}: Deal['line_items'][number]): Html | '' => {
  const said = warnings.map((warning) => WARNINGS[warning]);
  if (changed)
    said.push(
      `The price was ${writer.money(changed.amount, changed.currency)} when it was sent` as never,
    );
  return said.length === 0
    ? ''
    : html`<ul class="remarks">${said.map((text) => html`<li>${text}.</li>`)}</ul>`;
};

const linesOf = ({ line_items, indicative_totals }: Deal): Html =>
  dataTable(
    `${line_items.length === 1 ? '1 line' : `${line_items.length} lines`}, at the indicative prices that the buyer saw`,
    [
      { head: 'Product' },
      { head: 'Quantity', isNumber: true },
      { head: 'Price', isNumber: true },
      { head: 'Total', isNumber: true },
    ],
    {
      rows: line_items.map((line) => {
        const { amount, currency } = line.indicative_unit_price;
        return [
          html`<bdi>${line.title}</bdi> <span class="sku">${line.sku}</span>${
            line.note !== undefined && html`<span class="hint" dir="auto">“${line.note}”</span>`
          }${warningsOf(line)}`,
          writer.count(line.quantity),
          writer.money(amount, currency),
          writer.money(amount * line.quantity, currency),
        ];
      }),
      empty: 'The list has no lines.',
      foot: html`<tfoot><tr><th scope="row">Total</th><td></td><td></td><td class="num">${sums(indicative_totals)}</td></tr></tfoot>`,
    },
  );

const offerOf = ({ quotation, won_with, won_value }: Deal): Html | '' => {
  if (!quotation) return '';
  const { number, values, valid_until, lines, left_out, charges, terms } = quotation;
  const agreed = won_with?.number === number && won_with.agreed ? '; the buyer agreed to it' : '';
  return html`<section><h2>Quotation ${number}</h2>
<p>${sums(values)}, valid until ${momentText(valid_until)}${agreed}.${
    won_value && html` <strong>Won for ${sums(won_value)}.</strong>`
  }</p>
${dataTable(
  'Offered',
  [
    { head: 'Product' },
    { head: 'Quantity', isNumber: true },
    { head: 'Price', isNumber: true },
    { head: 'Total', isNumber: true },
  ],
  {
    rows: [
      ...lines.map(
        ({ title, sku, quantity, unit_price: { amount, currency }, replaces, reason }) => [
          html`<bdi>${title}</bdi> <span class="sku">${sku}</span>${
            replaces && html`<span class="hint">in place of <bdi>${replaces.title}</bdi></span>`
          }${reason !== undefined && html`<span class="hint" dir="auto">${reason}</span>`}`,
          writer.count(quantity),
          writer.money(amount, currency),
          writer.money(amount * quantity, currency),
        ],
      ),
      ...charges.map(({ label, amount, currency }) => [
        label,
        '',
        '',
        writer.money(amount, currency),
      ]),
    ],
    empty: 'Nothing is offered.',
  },
)}
${left_out.length > 0 && html`<p>Left out: ${left_out.map(({ line_id, reason }) => `line ${line_id}${reason === undefined ? '' : ` (${reason})`}`).join(', ')}.</p>`}
${terms !== undefined && html`<figure class="letter"><figcaption>Terms</figcaption><blockquote dir="auto">${terms}</blockquote></figure>`}</section>`;
};

const questionsOf = ({ questions }: Deal): Html | '' =>
  questions.length === 0
    ? ''
    : html`<section><h2>Questions</h2>${questions.map(
        ({
          number,
          asked_at,
          question,
          answer,
        }) => html`<figure class="letter"><figcaption>${number}, asked on ${timeOf(asked_at)}</figcaption>
<blockquote dir="auto">${question}</blockquote>${
          answer === undefined
            ? html`<p><strong>Waits for an answer.</strong></p>`
            : html`<figcaption>Answer</figcaption><blockquote dir="auto">${answer}</blockquote>`
        }</figure>`,
      )}</section>`;

const GOODS_COLUMNS = [
  'unallocated',
  'allocated',
  'shipped',
  'delivered',
  'returned',
  'cancelled',
] as const;

const goodsOf = ({ goods }: Deal): Html | '' => {
  if (!goods) return '';
  const used = GOODS_COLUMNS.filter((one) => goods.lines.some((line) => line[one] !== undefined));
  return html`<section><h2>Goods</h2>${dataTable(
    'Where the goods are, in pieces',
    [
      { head: 'Product' },
      { head: 'Won', isNumber: true },
      ...used.map((state) => ({
        head: `${state.charAt(0).toUpperCase()}${state.slice(1)}`,
        isNumber: true,
      })),
    ],
    {
      rows: goods.lines.map((line): Content[] => [
        html`<bdi>${line.title}</bdi> <span class="sku">${line.sku}</span>${
          line.source !== undefined && html`<span class="hint">from ${line.source}</span>`
        }${line.warnings && html`<ul class="remarks"><li>More than the catalog had in stock.</li></ul>`}`,
        writer.count(line.quantity),
        ...used.map((state) => writer.count(line[state] ?? 0)),
      ]),
      empty: 'There are no goods.',
    },
  )}${
    goods.shipments.length > 0 &&
    html`<ul>${goods.shipments.map(
      ({ number, shipped_on, delivered_on, carrier, reference }) =>
        html`<li>Shipment ${number}: shipped ${shipped_on}${carrier !== undefined && ` with ${carrier}`}${
          reference !== undefined && html` <span class="sku">${reference}</span>`
        }${delivered_on === undefined ? '' : `, delivered ${delivered_on}`}</li>`,
    )}</ul>`
  }</section>`;
};

const LEAD_WAITS: Readonly<Record<string, string>> = {
  submitted: 'waits for somebody to accept it',
  accepted: 'waits for a contact with the company',
  rfq_submitted: 'takes the outcome of this request',
};

const besidesOf = ({ leads, same_mailbox, claimed_by, evidence }: Deal): Html => html`
${evidence.length > 0 && html`<section><h2>How it came about</h2><ul>${evidence.map((text) => html`<li>${text}</li>`)}</ul></section>`}
${claimed_by && notice('warn', html`<p>A lead of ${claimed_by.owner_id} has a claim on this mailbox: <a href="/desk/r/${claimed_by.lead_id}">${referenceOf(claimed_by.lead_id)}</a>.</p>`)}
${
  leads.length > 0 &&
  html`<section><h2>Leads</h2><ul>${leads.map(
    ({ lead_id, state }) =>
      html`<li><a href="/desk/r/${lead_id}">${referenceOf(lead_id)}</a>: ${state.replaceAll('_', ' ')}${
        LEAD_WAITS[state] === undefined ? '' : `; ${LEAD_WAITS[state]}`
      }</li>`,
  )}</ul></section>`
}
${
  same_mailbox.length > 0 &&
  html`<section><h2>Other lists of the same mailbox</h2><ul>${same_mailbox.map(
    ({ handoff_id, owner_id, confirmed_at }) =>
      html`<li><a href="/desk/r/${handoff_id}">${referenceOf(handoff_id)}</a> of ${owner_id}, confirmed on ${timeOf(confirmed_at)}</li>`,
  )}</ul></section>`
}`;

/** What a page shows of an RFQ. */
export const dealMain = (deal: Deal): Html => html`
${facts([
  ['State', STATES[deal.state]],
  ['Sent', timeOf(deal.submitted_at)],
  ['Promoter', ownerLink(deal.owner_id)],
  ['Agent', agentLink(deal.agent_id, deal.agent_name)],
  ['Total', sums(deal.won_value ?? deal.quotation?.values ?? deal.indicative_totals)],
])}
${deal.reason !== undefined && html`<p>Reason of the last move: <q dir="auto">${deal.reason}</q></p>`}
<section><h2>Buyer</h2>${contactOf(deal)}</section>
<section><h2>List</h2>${linesOf(deal)}</section>
${offerOf(deal)}${questionsOf(deal)}${goodsOf(deal)}${besidesOf(deal)}`;

export const dealHistory = (deal: Deal): Html =>
  html`<section><h2>History</h2>${happened(
    deal.history.map((entry) => ({
      at: entry.at,
      what: eventWords(entry.type),
      who: actorText(entry, deal),
    })),
  )}</section>`;

/* The acts. */

type Line = Deal['line_items'][number];

/** The lines of a quotation that differ from the default, as the form has them; or the field that cannot be read. */
const quotedLines = (sent: Typed): object[] | Refusal => {
  const ids = [
    ...new Set(Object.keys(sent).flatMap((name) => /^currency-(\d+)$/.exec(name)?.[1] ?? [])),
  ];
  const lines: object[] = [];
  for (const line_id of ids) {
    const of = (name: string) => (sent[`${name}-${line_id}`] ?? '').trim();
    const entered = {
      quantity: of('quantity'),
      price: of('price'),
      sku: of('sku'),
      reason: of('reason'),
    };
    const isOut = of('out') !== '';
    if (!isOut && Object.values(entered).every((text) => text === '')) continue;
    const currency = of('currency');
    const amount = entered.price === '' ? undefined : minorUnits(entered.price, currency);
    if (typeof amount === 'object')
      return refuseField(`/price-${line_id}`, 'invalid', amount.reason);
    if (entered.quantity !== '' && !/^\d{1,9}$/.test(entered.quantity))
      return refuseField(`/quantity-${line_id}`, 'invalid', 'must be a number of pieces');
    lines.push({
      line_id,
      ...(entered.quantity !== '' && { quantity: Number(entered.quantity) }),
      ...(amount !== undefined && { unit_price: { amount, currency } }),
      ...(entered.sku !== '' && { sku: entered.sku }),
      ...(isOut && { leave_out: true }),
      ...(entered.reason !== '' && { reason: entered.reason }),
    });
  }
  return lines;
};

const CHARGES = [1, 2] as const;

const chargesIn = (sent: Typed): object[] | Refusal => {
  const charges: object[] = [];
  for (const number of CHARGES) {
    const label = sent[`label-${number}`]?.trim() ?? '';
    const text = sent[`amount-${number}`]?.trim() ?? '';
    if (label === '' && text === '') continue;
    const money = moneyIn(text);
    if (!money) return refuseField(`/amount-${number}`, 'invalid', 'must be like 12.00 GBP');
    charges.push({ label, ...money });
  }
  return charges;
};

/** The end of a day, in UTC. */
export const endOfDay = (day: string): string => `${day}T23:59:59Z`;

const quoteInput = (sent: Typed, { id }: Typed): object | Refusal => {
  const lines = quotedLines(sent);
  if (isRefusal(lines)) return lines;
  const charges = chargesIn(sent);
  if (isRefusal(charges)) return charges;
  const { terms = '', reason = '', valid_until = '', replaces, accept_difference } = sent;
  return {
    handoff_id: id,
    lines,
    charges,
    valid_until: endOfDay(valid_until),
    ...(terms.trim() !== '' && { terms }),
    ...(reason.trim() !== '' && { reason }),
    ...(replaces !== undefined && replaces !== '' && { replaces: Number(replaces) }),
    ...(accept_difference !== undefined && { accept_difference: true }),
  };
};

const QUOTE_FIELDS: Readonly<Record<string, string>> = { unit_price: 'price', leave_out: 'out' };

/** The field of the form for a pointer into the quotation, like `/lines/0/unit_price`. */
const quoteField = (pointer: string, sent: Typed): string => {
  const [, first = '', index, member = 'quantity'] = pointer.split('/');
  if (index === undefined) return first;
  if (first === 'charges') return `amount-${Number(index) + 1}`;
  const lines = quotedLines(sent);
  const line = isRefusal(lines) ? undefined : (lines[Number(index)] as { line_id: string });
  return line ? `${QUOTE_FIELDS[member] ?? member}-${line.line_id}` : first;
};

/** The lines of a form about goods: those with a quantity, or all if they have a source; none named are all. */
const someLines = (sent: Typed): { lines?: object[] } => {
  const source = (sent['source'] ?? '').trim();
  const lines = Object.entries(sent).flatMap(([name, text]) => {
    const [, line_id] = /^pieces-(\d+)$/.exec(name) ?? [];
    const quantity = text.trim() === '' ? {} : { quantity: Number(text) };
    return line_id === undefined
      ? []
      : [{ line_id, ...quantity, ...(source !== '' && { source }) }];
  });
  const chosen = lines.filter((line) => 'quantity' in line);
  if (chosen.length > 0) return { lines: chosen };
  return source === '' ? {} : { lines };
};

const given = (sent: Typed, ...names: string[]): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name) => ((sent[name] ?? '').trim() === '' ? [] : [[name, sent[name] ?? '']])),
  );

const GOODS = (operation: PageAct['operation'], done: string, ...names: string[]): PageAct => ({
  operation,
  input: (sent, { id }) => ({ handoff_id: id, ...someLines(sent), ...given(sent, ...names) }),
  fieldOf: (pointer) => (pointer.startsWith('/lines') ? 'pieces' : (pointer.split('/')[1] ?? '')),
  done,
});

const moved = (to: string, done: string): PageAct => ({
  operation: 'moveRfq',
  input: (sent, { id }) => ({
    handoff_id: id,
    to,
    ...given(sent, 'reason'),
    ...(sent['quotation'] && { quotation: Number(sent['quotation']) }),
  }),
  done,
});

const valuesIn = (text: string): { values?: object[] } | Refusal => {
  if (text.trim() === '') return {};
  const values = text.split('+').map((one) => moneyIn(one));
  return values.every((one) => one !== undefined)
    ? { values }
    : refuseField('/values', 'invalid', 'must be like 129.50 GBP, with + between currencies');
};

export const DEAL_ACTS: Readonly<Record<string, PageAct>> = {
  confirm: moved('confirmed', 'The request is confirmed.'),
  'take-up': moved('in_progress', 'The request is taken up.'),
  quote: {
    operation: 'quoteRfq',
    input: quoteInput,
    fieldOf: quoteField,
    done: 'The quotation is made. The buyer gets it by mail.',
  },
  answer: {
    operation: 'answerQuestion',
    input: ({ question, answer }, { id }) => ({
      handoff_id: id,
      question: Number(question),
      answer,
    }),
    done: 'The answer is sent to the buyer.',
  },
  win: moved('won', 'The request is won. Allocate its goods next.'),
  lose: moved('lost', 'The request is closed as lost.'),
  withdraw: moved('withdrawn', 'The request is withdrawn.'),
  approve: {
    operation: 'approveRfqMove',
    input: ({ proposal }, { id }) => ({ handoff_id: id, proposal: Number(proposal) }),
    done: 'Approved and done.',
  },
  refuse: {
    operation: 'refuseRfqMove',
    input: ({ proposal, reason }, { id }) => ({
      handoff_id: id,
      proposal: Number(proposal),
      reason,
    }),
    done: 'The proposal is refused. The request keeps its state.',
  },
  allocate: GOODS('allocateGoods', 'The goods are allocated.'),
  ship: GOODS(
    'shipGoods',
    'The shipment is recorded. The buyer gets a letter.',
    'carrier',
    'reference',
    'shipped_on',
  ),
  deliver: GOODS('deliverGoods', 'The delivery is recorded.', 'delivered_on'),
  cancel: GOODS('cancelGoods', 'The goods are cancelled. The buyer gets a letter.', 'reason'),
  return: GOODS('returnGoods', 'The return is recorded.', 'reason'),
  correct: {
    operation: 'correctRfq',
    input(sent, { id }) {
      const values = valuesIn(sent['values'] ?? '');
      return isRefusal(values)
        ? values
        : { handoff_id: id, ...given(sent, 'to', 'reason'), ...values };
    },
    done: 'The outcome is corrected.',
  },
};

const DAY_MS = 86_400_000;
const QUOTE_DAYS = 14;

const day = (at: number): string => new Date(at).toISOString().slice(0, 10);

const cellField = (state: FormState, name: string, label: string, more: Html | '' = ''): Html => {
  const id = fieldId('quote', name);
  const fault = state.faults.get(id);
  return html`<input id="${id}" name="${name}" aria-label="${label}" autocomplete="off" value="${typedIn(state, 'quote', name) ?? ''}"${more}${invalid(fault)}>${
    fault !== undefined && html`<span class="fault">${fault}</span>`
  }`;
};

const quoteLine = (line: Line, state: FormState): Html => {
  const { line_id, title, sku, quantity, indicative_unit_price: price } = line;
  const of = (name: string) => `${name}-${line_id}`;
  const about = `line ${line_id}, ${title}`;
  const isOut = typedIn(state, 'quote', of('out')) !== undefined;
  return html`<fieldset class="quoted"><legend><bdi>${title}</bdi> <span class="sku">${sku}</span></legend>
<input type="hidden" name="${of('currency')}" value="${price.currency}">
<label>Pieces ${cellField(state, of('quantity'), `Pieces of ${about}`, html` inputmode="numeric" placeholder="${quantity}"`)}</label>
<label>Price in ${price.currency} ${cellField(state, of('price'), `Price in ${price.currency} of ${about}`, html` inputmode="decimal" placeholder="${decimalOf(price.amount, price.currency)}"`)}</label>
<label>Other SKU ${cellField(state, of('sku'), `Another product in place of ${about}`)}</label>
<label class="why">Reason, shown to the buyer ${cellField(state, of('reason'), `Reason for ${about}`)}</label>
<label class="out"><input type="checkbox" name="${of('out')}" value="1"${isOut ? html` checked` : ''}> Leave out</label></fieldset>`;
};

const quoteForm = (deal: Deal, state: FormState, now: number): ActForm => {
  const { line_items, quotation, state: current } = deal;
  const isReplaced = quotation && ['quoted', 'agreed', 'declined'].includes(current);
  return {
    name: 'quote',
    title: isReplaced ? 'Quote again' : 'Quote line by line',
    text: `What is empty stays as on the list, at the catalog’s price for the quantity.${
      isReplaced
        ? ` The new quotation voids number ${quotation.number}, and the buyer’s answer to it.`
        : ''
    }`,
    hidden: isReplaced ? { replaces: String(quotation.number) } : {},
    body: html`${line_items.map((line) => quoteLine(line, state))}
<fieldset class="quoted"><legend>Shipping and other charges</legend>${CHARGES.map(
      (
        number,
      ) => html`<label>Name ${cellField(state, `label-${number}`, `Name of charge ${number}`)}</label>
<label>Amount ${cellField(state, `amount-${number}`, `Amount of charge ${number}`, html` placeholder="12.00 ${line_items[0]?.indicative_unit_price.currency ?? 'GBP'}"`)}</label>`,
    )}</fieldset>
<label class="out"><input type="checkbox" id="quote-accept_difference" name="accept_difference" value="1"${
      typedIn(state, 'quote', 'accept_difference') === undefined ? '' : html` checked`
    }> A total may differ by more than a quarter from the list</label>`,
    fields: [
      {
        name: 'valid_until',
        label: 'Valid until',
        type: 'date',
        value: day(now + QUOTE_DAYS * DAY_MS),
        required: true,
      },
      { name: 'terms', label: 'Terms of payment and delivery', rows: 3, maxlength: 4_000 },
      { name: 'reason', label: 'Why it differs', hint: 'For staff; the buyer does not see it.' },
    ],
    button: 'Make the quotation',
  };
};

const REASON = { name: 'reason', label: 'Reason' };

/** The moves that staff can make in the state, as forms. */
const moveForms = (deal: Deal, state: FormState, now: number): ActForm[] => {
  const from = deal.state as (typeof OPEN_RFQ_STATES)[number];
  const can = (to: RfqStateName) => rfqMovers(from, to).some((mover) => mover !== 'buyer');
  const forms: ActForm[] = [];
  if (from === 'unconfirmed')
    forms.push({
      name: 'confirm',
      title: 'Confirm it without the buyer’s mail',
      fields: [{ ...REASON, label: 'How do you know the buyer?', required: true }],
      button: 'Confirm',
    });
  if (can('in_progress') && from !== 'quoted' && from !== 'agreed')
    forms.push({ name: 'take-up', title: 'Take it up', button: 'Take it up' });
  if (can('won'))
    forms.push({
      name: 'win',
      title: from === 'agreed' ? 'Win it' : 'Win it without the buyer’s answer',
      text:
        from === 'agreed'
          ? `The buyer agreed to ${sums(deal.quotation?.values ?? [])}.`
          : 'The buyer has not answered, so another person of staff must approve it.',
      hidden: deal.quotation ? { quotation: String(deal.quotation.number) } : {},
      fields: [REASON],
      button: 'Record the win',
    });
  if (can('quoted')) forms.push(quoteForm(deal, state, now));
  if (can('in_progress') && (from === 'quoted' || from === 'agreed'))
    forms.push({
      name: 'take-up',
      title: 'Take the quotation back',
      fields: [REASON],
      button: 'Take it back',
      isDangerous: true,
    });
  if (can('withdrawn'))
    forms.push({
      name: 'withdraw',
      title: 'The buyer withdrew it',
      fields: [REASON],
      button: 'Record it',
      isDangerous: true,
    });
  if (can('lost'))
    forms.push({
      name: 'lose',
      title: 'Close it as lost',
      fields: [REASON],
      button: 'Close it',
      isDangerous: true,
    });
  return forms;
};

const piecesFields = (deal: Deal, of: 'shippable' | 'open' | 'sent') =>
  (deal.goods?.lines ?? []).map(
    ({ line_id, title, allocated = 0, unallocated = 0, shipped = 0, delivered = 0 }) => {
      const most = {
        shippable: allocated,
        open: allocated + unallocated,
        sent: shipped + delivered,
      }[of];
      return {
        name: `pieces-${line_id}`,
        label: `Pieces of ${title}`,
        hint: `At most ${most}. All empty: everything.`,
        maxlength: 9,
      };
    },
  );

const goodsForms = (deal: Deal): ActForm[] => {
  const { goods } = deal;
  if (!goods) return [];
  const has = (...states: (typeof GOODS_COLUMNS)[number][]) =>
    goods.lines.some((line) => states.some((state) => (line[state] ?? 0) > 0));
  const forms: ActForm[] = [];
  if (has('unallocated'))
    forms.push({
      name: 'allocate',
      title: 'Allocate goods',
      fields: [
        ...piecesFields(deal, 'open'),
        { name: 'source', label: 'Shelf or supplier', maxlength: 120 },
      ],
      button: 'Allocate',
    });
  if (has('allocated'))
    forms.push({
      name: 'ship',
      title: 'Ship',
      fields: [
        { name: 'carrier', label: 'Carrier', maxlength: 120 },
        { name: 'reference', label: 'Parcel number', maxlength: 120 },
        { name: 'shipped_on', label: 'Shipped on', type: 'date' },
        ...piecesFields(deal, 'shippable'),
      ],
      button: 'Record the shipment',
    });
  if (has('shipped'))
    forms.push({
      name: 'deliver',
      title: 'Delivered',
      fields: [{ name: 'delivered_on', label: 'Delivered on', type: 'date' }],
      button: 'Record the delivery',
    });
  if (has('shipped', 'delivered'))
    forms.push({
      name: 'return',
      title: 'Goods came back',
      fields: [...piecesFields(deal, 'sent'), REASON],
      button: 'Record the return',
      isDangerous: true,
    });
  if (has('unallocated', 'allocated'))
    forms.push({
      name: 'cancel',
      title: 'Cancel goods',
      text: 'The value falls, and the buyer gets a letter with the reason.',
      fields: [...piecesFields(deal, 'open'), REASON],
      button: 'Cancel the goods',
      isDangerous: true,
    });
  return forms;
};

const proposalForms = ({ proposed }: Deal): ActForm[] => {
  if (!proposed) return [];
  const { number, to, values, by_name, by, reason } = proposed;
  const hidden = { proposal: String(number) };
  const what = `${by_name ?? by} proposes: ${to.replaceAll('_', ' ')}${values ? ` for ${sums(values)}` : ''}.`;
  return [
    {
      name: 'approve',
      title: 'Approve as the second person',
      text: `${what}${reason === undefined ? '' : ` “${reason}”`}`,
      hidden,
      button: 'Approve',
      isOpen: true,
    },
    {
      name: 'refuse',
      title: 'Refuse the proposal',
      text: what,
      hidden,
      fields: [{ ...REASON, required: true }],
      button: 'Refuse',
      isDangerous: true,
    },
  ];
};

const answerForms = ({ questions }: Deal): ActForm[] =>
  questions
    .filter(({ answer }) => answer === undefined)
    .slice(0, 1)
    .map(({ number, question }) => ({
      name: 'answer',
      title: `Answer question ${number}`,
      text: html`<q dir="auto">${question}</q>`,
      hidden: { question: String(number) },
      fields: [
        {
          name: 'answer',
          label: 'Answer',
          rows: 4,
          maxlength: 4_000,
          required: true,
          hint: 'The buyer gets it by mail.',
        },
      ],
      button: 'Send the answer',
      isOpen: true,
    }));

const correctForm = (deal: Deal): ActForm => ({
  name: 'correct',
  title: 'Correct the outcome',
  text: 'The numbers of the day of the outcome change. What raises the value needs a second person.',
  fields: [
    {
      name: 'to',
      label: 'Right state',
      value: deal.state,
      options: RFQ_CORRECTIONS.map((to) => [to, to.replaceAll('_', ' ')] as const),
    },
    { name: 'values', label: 'Right value', hint: 'Like 129.50 GBP. Empty: unchanged.' },
    { ...REASON, required: true },
  ],
  button: 'Correct it',
  isDangerous: true,
});

/** The acts that the state of an RFQ allows, the likeliest first. */
export const dealForms = (deal: Deal, state: FormState, now: number): ActForm[] => {
  const isOver = isRfqOutcome(deal.state);
  const forms = [
    ...proposalForms(deal),
    ...answerForms(deal),
    ...(isOver ? goodsForms(deal) : moveForms(deal, state, now)),
    ...(isOver ? [correctForm(deal)] : []),
  ];
  return forms.map((form, index) => (index === 0 ? { ...form, isOpen: true } : form));
};
