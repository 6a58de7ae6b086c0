/** The documentation pages, from the registries. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BOUNDARIES, DISCLOSURES, LEARNED } from '#contracts/boundaries.ts';
import { LIMITS } from '#contracts/limits.ts';
import {
  ATTRIBUTION_PARAMETER,
  ATTRIBUTION_TYPE,
  type AttributionClaims,
  VIA_PARAMETER,
} from '#contracts/links/attribution-token.ts';
import { toolName } from '#contracts/places.ts';
import { outreachOperations } from '#contracts/registries/agents.ts';
import { SCOPES } from '#contracts/scopes.ts';
import { skillsMarkdown, KEYS_PATH } from '#src/interfaces/a2a/card.ts';
import { toolsMarkdown } from '#src/interfaces/mcp/documents.ts';
import { deskMarkdown, type PageRates, restMarkdown } from '#src/interfaces/rest/docs.ts';
import { FALSE_CLICKS } from '#src/links/false-clicks.ts';
import { code, scopeText, table, typescript } from './markdown.ts';

const EXAMPLE = readFileSync(
  join(import.meta.dirname, '../../../contracts/examples/read-attribution-token.ts'),
  'utf8',
);

const MEANINGS: Record<keyof AttributionClaims, string> = {
  owner_id: 'the promoter whose link it is',
  agent_id: 'the agent that created the link',
  link_id: 'the link',
  target: `what the page shows: ${code('kind')} is product, category or search, ${code('ref')} is the product id, the category or the words`,
  visit_id: `the id of the event ${code('VisitRecorded')} in the log`,
  iat: 'issue time, in seconds since 1970',
  exp: `end of the attribution window that the promoter had at the click, in seconds since 1970; ${LIMITS.ATTRIBUTION_DAYS} days after the click by default, at most ${LIMITS.ATTRIBUTION_DAYS_MAX}`,
};

/** The page about short links as Markdown: where they lead, and the format of the attribution token. */
const linksMarkdown = (origin: string): string =>
  [
    '# Links',
    `A short link (${code(`${origin}/l/{code}`)}) records the visit and redirects to a page of this service: ` +
      `a product (${code('/p/{id}')}), a category (${code('/c/{name}')}) or a search (${code('/s?q=…')}). The address has the ` +
      `${code('utm_…')} parameters of the link, and nothing that a visitor or a mail program adds to the short link.`,
    'The page shows the product or the products with picture, price tiers, order rule, stock and lead time, who promotes it, and the ' +
      'disclosure. Its Open Graph and Twitter tags name the short link, so that a page that is shared again is attributed.',
    `A link that has expired, or whose product is withdrawn, leads to its ${code('expired_target')}, otherwise to the fallback target of its ` +
      'promoter, which staff set in the profile of the promoter. A disabled link leads to the fallback as well, but its visits are not recorded and credit no promoter. ' +
      'Without a fallback, disabled and expired links answer 410, and a withdrawn product has a page with alternatives.',
    'On a product page a person can add the product to a list, which is in the address until the person reviews it. Then it is a list like ' +
      `a handoff, which only the person can send, and counts as ${code('lists_created')}. The token is its source. An agent cannot read it.`,
    '## Attribution token',
    `If the visit counts as a valid click, the address also has the parameter ${code(ATTRIBUTION_PARAMETER)}: a statement, signed by ` +
      'this service, that this visit of this link led there. There is none for previews, bots, prefetches, requests by HEAD and visits ' +
      'beyond the limit of a network address, and none where the address would be longer than ' +
      `${LIMITS.URL_BYTES_MAX} bytes. The lists of headers and programs that mark such visits are of ${FALSE_CLICKS.version}. These visits credit no promoter; their address has the code of the link instead (${code(VIA_PARAMETER)}), so that the page can ` +
      'name the promoter and preview programs show the short link.',
    `The token is a compact JWS (RFC 7515) with the header ${code('alg')} EdDSA, ${code('typ')} ${ATTRIBUTION_TYPE} and ${code('kid')}, ` +
      `one of the keys at ${origin}${KEYS_PATH}. That key signs nothing else. The payload is JSON:`,
    table(
      ['Claim', 'Meaning'],
      Object.entries(MEANINGS).map(([name, meaning]) => [code(name), meaning]),
    ),
    'It has no campaign, no tags and nothing about the visitor; no cookie is set. Later versions can add claims: ignore those that ' +
      'you do not know. A person who forwards the address forwards the token: it proves that a click took place, not who made it. If an address ' +
      'has the parameter more than once, the first one counts.',
    'Download the keys, and check the token of an address offline:',
    typescript(EXAMPLE),
  ].join('\n\n');

/** A page for people and programs: made from constants and the registry, without data of any owner. */
export type DocPage = {
  slug: string;
  title: string;
  about: string;
  markdown(origin: string, rates: PageRates): string;
};

/** What is stored of people, and for how long. */
const PERSONAL_DATA: readonly [string, string][] = [
  [
    'contacts of leads and handoffs, notes and reasons',
    'encrypted, each record with a key of its own, until the record is erased',
  ],
  [
    'the contact of a request for quotation, delivery country and message',
    `encrypted with another key. It is destroyed if the request is not confirmed in ${LIMITS.CONFIRMATION_DAYS} days, if the holder of the ` +
      'mailbox did not send it, and if the list is sent again',
  ],
  [
    'name, postal address and mailbox of a promoter',
    'encrypted, until the profile is replaced, removed or erased',
  ],
  [
    'mail',
    'the address is encrypted with the key of the person. Message files are removed after 30 days, or after the erasure',
  ],
  [
    'visits of links',
    'a keyed hash of network address and browser, which is another one each day; country, kind of device, and host of the page before',
  ],
  [
    'keyed hashes of addresses and mailboxes',
    'without an end: they find the records of a person and keep contact refused. They can be compared with an address, and not be turned into one',
  ],
];

const boundariesText = (origin: string): string =>
  [
    '# Boundaries',
    'No agent can do the following, over any interface and with any key:',
    BOUNDARIES.map(({ statement, instead }) => `- ${statement} ${instead}`).join('\n'),
    `An attempt that its name identifies is answered with [${code('boundary_forbidden')}](${origin}/problems/boundary_forbidden.md). Every attempt is in the agent's audit record.`,
    'Four measures enforce this, each with its tests: the interfaces have no such operation; the contract of an operation lists the events that it may append, and every event is checked against the list; events of buyers are appended only for the holder of the review link, and the confirmation of an RFQ only for the holder of its mailbox; and random calls over all interfaces append no other event.',
    'The agent that created a list has its review link, unless the service delivers it, so a sent list is no RFQ yet: the service mails a link to the mailbox of its contact, and only that link, or staff with a recorded reason, confirms it. A confirmed mailbox proves a mailbox, never a buyer: its reader may be a program. Such a program makes a count, and no value; staff read in words how the RFQ came about. The report has this path, as a test took it.',
    table(
      ['What an agent reads', 'Who can cause it', 'What it means'],
      LEARNED.map(({ from, causedBy, means }) => [from, causedBy, means]),
    ),
    `The events that each operation may append, and the attempts that were tested: [boundaries.json](${origin}/boundaries.json).`,
    '## Personal data',
    'No agent reads the contact of a request for quotation, or data of another promoter. These are stored:',
    table(['Of people', 'How, and until when'], PERSONAL_DATA),
    `People see, copy and erase the records of their address, and refuse contact, at [/privacy](${origin}/privacy); staff do it for those who cannot, with a recorded proof. ` +
      'A request that was never confirmed is found there only while its contact is stored. An erasure destroys the keys of the records, so no copy can be read, withdraws open requests, releases the claims of leads, ' +
      'removes the profile of a promoter, and refuses contact unless the person allows it. ' +
      'It removes no event: quantities, values won and all numbers stay, without a name, and the keyed hashes stay. Texts that early versions stored unencrypted are hidden, and stay in the log and in backups.',
    '## Scopes',
    table(
      ['Scope', 'Group', 'Meaning'],
      Object.entries(SCOPES).map(([name, { group, meaning }]) => [code(name), group, meaning]),
    ),
  ].join('\n\n');

const accessText = (origin: string): string =>
  [
    '# Access',
    'An agent needs a key, and the promoter for whom it acts gets the first one as follows. No agent can do this for itself.',
    [
      `1. Apply on [${origin}/apply](${origin}/apply): name, postal address and mailbox of the promoter, a short name, and the name, the purpose and the [scopes](${origin}/docs/boundaries.md) of the agent.`,
      `2. Open the link in the message, and confirm the application within ${LIMITS.MAILED_LINK_DAYS} days. Nothing is requested before.`,
      '3. Staff approve the agent, with all or some of the scopes, or deny it with a reason. The decision is mailed, and the same link shows it.',
      `4. Press the button behind that link: it issues the key, once, and shows it once. The link works for ${LIMITS.APPLICATION_DAYS} days after the confirmation.`,
    ].join('\n'),
    `A key is valid for ${LIMITS.KEY_DAYS_DEFAULT} days. Ask staff for a desk token to issue, rotate and revoke keys, and to request access for more agents: [the desk](${origin}/docs/desk.md).`,
    'Notices go to the mailbox of the promoter. If staff set another one, a link is mailed there, and only its holder, or staff with a reason, confirms it.',
  ].join('\n\n');

const STATES: readonly [string, string][] = [
  ['pending_approval', 'waits for approval'],
  ['changes_requested', 'a person requested changes: send the new content with `revises`'],
  ['approved', 'enough people approved exactly these bytes'],
  ['dispatched', 'passed to the channel, or waiting for a retry'],
  ['confirmed', 'the receiver acknowledged it'],
  ['failed', 'it certainly did not arrive'],
  ['outcome_unknown', 'it may have arrived; not retried automatically, a person must check'],
  ['rejected, expired, canceled', 'nothing was sent'],
];

const outreachText = (origin: string): string =>
  [
    '# Outreach',
    'Agents propose posts, messages and notifications to other agents. They are sent only after people of the owner have approved exactly that content. There is no REST operation for this: propose over [MCP](' +
      `${origin}/docs/mcp.md) or [A2A](${origin}/docs/a2a.md).`,
    table(
      ['Tool', 'Scope', 'What it does'],
      Object.values(outreachOperations).map((operation) => [
        code(toolName(operation)),
        scopeText(operation.scope),
        operation.summary,
      ]),
    ),
    '## From proposal to outcome',
    table(
      ['Status', 'Meaning'],
      STATES.map(([status, about]) => [code(status), about]),
    ),
    [
      '- An approval is valid for one `content_sha256`: the hash of the bytes that are sent, including target, schedule and channel. A revision voids all earlier decisions.',
      '- No agent credential can approve. If no approver is configured, nothing can be proposed.',
      `- A text with a link must contain a disclosure: ${DISCLOSURES.map(code).join(' or ')}.`,
      `- A request that is not approved and sent by ${code('not_after')} expires (default ${LIMITS.OUTREACH_DAYS_DEFAULT} days, at most ${LIMITS.OUTREACH_DAYS_MAX}).`,
      '- Approved content is sent at most once, unless the receiver handles each id only once. An unknown outcome is reported as unknown.',
      '- People can halt all outreach of one owner, or of all owners, immediately.',
    ].join('\n'),
    '## Webhooks',
    'Webhooks are signed as [Standard Webhooks](https://www.standardwebhooks.com). `webhook-id` is the id of the request and its revision, the same on every attempt; the body is exactly the approved bytes. Answer 2xx when you have stored it. 410 disables the channel.',
  ].join('\n\n');

/** The format of checkpoints, leaves and exports, and who proves what with them. */
const proofText = (origin: string): string =>
  [
    '# Proof',
    'The log has one Merkle tree (RFC 6962): a leaf for each event, in log order. A signed checkpoint of the tree proves that everything under it is as it was, in its order, and complete. ' +
      'It proves nothing about what somebody did before it reached this service.',
    '## What you can check, and against whom',
    table(
      ['You have', 'You know'],
      [
        [
          'an export, and the key from somebody else',
          'the notary signed it: no record was altered, none is missing, dropped or moved up to its position',
        ],
        [
          'a checkpoint that you kept, and a later export',
          'what was under that checkpoint is unchanged, even if the service wanted it otherwise',
        ],
        ['an export alone', 'the file is consistent. Anybody can have made it'],
      ],
    ),
    'Who holds the key of the notary can sign another history. Only a checkpoint that somebody else kept shows that: keep one now and then, or trust a witness, which cosigns only what continues what it cosigned before. What precedes the first checkpoint is proved from then on.',
    'Of an export, positions, names of people and opened texts are what the service says: no proof covers them.',
    'An erasure destroys the key of a text. The encrypted text stays in its leaf, so every proof stays valid.',
    '## Check a file',
    `\`tributary audit verify FILE --key KEY\`, the page [${origin}/verify](${origin}/verify), or [the verifier](${origin}/proof/verifier.js) with Node: 0 intact, 1 altered (with the first wrong line), 2 malformed, 3 incomplete.`,
    '## Format',
    [
      '- **Leaf**: SHA-256 of a zero byte and the canonical JSON (RFC 8785) of the event: `data`, `id`, `meta`, `owner`, `previous` (hash of the leaf before of the same owner, in base64; empty for the first one), `revision`, `sequence` (its number among the leaves of the owner, from 1), `stream`, `type`. It has no position, so copies of the log have the same tree. The keys of personal data are no leaves.',
      '- **Last leaf** under a checkpoint: `{"heads":…,"owners":…}`, the root and the size of a second tree, whose leaves are `{"leaf":…,"owner":…,"sequence":…}`: the newest leaf of each owner, in the order of their names in UTF-16. So a cut end is noticed.',
      `- **Checkpoint**: a [signed note](https://c2sp.org/signed-note) without extensions ([tlog-checkpoint](https://c2sp.org/tlog-checkpoint)): ${code(`${origin}/proof/checkpoint`)}. It is made within a second of new work, after the mark that it is of is stored. Earlier ones are not kept: any of them can be made again from the marks in the log. Keys: [${origin}/proof/key](${origin}/proof/key).`,
      `- **Tiles** of hashes, as in [tlog-tiles](https://c2sp.org/tlog-tiles): ${code(`${origin}/proof/tile/{level}/{number}`)}. Entries are not public.`,
      '- **Export**: a head and a record a line. `proof` in the head has two checkpoints, the hashes between them, the newest leaf of the owner, and the hashes that lead from it to the checkpoint; a range also has those of its last record. `schemas` has the version of each type of the records.',
      '- **Receipt** of a request, of `audit receipt` and the tool `get_receipt`: a [tlog-proof](https://c2sp.org/tlog-proof) for each event, with the text of its leaf as extra data.',
      '- **Witnesses** ([tlog-witness](https://c2sp.org/tlog-witness), [tlog-cosignature](https://c2sp.org/tlog-cosignature)) are asked once a minute each. An export begins at the newest checkpoint that one cosigned.',
    ].join('\n'),
  ].join('\n\n');

/** Every page. The pages of the protocols are in the folders of their interfaces. */
export const DOC_PAGES: readonly DocPage[] = [
  {
    slug: 'access',
    title: 'Access',
    about: 'how a promoter applies, and gets the first key of an agent',
    markdown: accessText,
  },
  {
    slug: 'rest',
    title: 'REST',
    about: 'the seven operations, field by field',
    markdown: restMarkdown,
  },
  { slug: 'mcp', title: 'MCP', about: 'every tool, and how to connect', markdown: toolsMarkdown },
  {
    slug: 'a2a',
    title: 'A2A',
    about: 'every skill, and the states of a task',
    markdown: skillsMarkdown,
  },
  {
    slug: 'outreach',
    title: 'Outreach',
    about: 'from a proposal to its outcome, and who approves',
    markdown: outreachText,
  },
  {
    slug: 'links',
    title: 'Links',
    about: 'where a link leads, and the signed token that proves it',
    markdown: linksMarkdown,
  },
  {
    slug: 'desk',
    title: 'Desk',
    about: 'what people do: access, keys, catalog, leads, outreach, read models',
    markdown: deskMarkdown,
  },
  {
    slug: 'proof',
    title: 'Proof',
    about: 'how a stranger verifies the history of a promoter',
    markdown: proofText,
  },
  {
    slug: 'boundaries',
    title: 'Boundaries',
    about: 'what no agent can do, and how that is enforced',
    markdown: boundariesText,
  },
];

/** A reserved name, which no page contains otherwise. */
export const TEMPLATE_ORIGIN = 'https://origin.invalid';

/** Above every value that the settings allow. */
export const TEMPLATE_RATES: PageRates = {
  readsPerMinute: 999_999_001,
  writesPerMinute: 999_999_002,
};

/**
 * Completes a documentation page, whose HTML `make publish` renders once for all services. A placeholder stands for
 * what differs between services.
 */
export const fillTemplate = (html: string, origin: string, rates: PageRates): string =>
  html
    .replaceAll(TEMPLATE_ORIGIN, origin)
    .replaceAll(String(TEMPLATE_RATES.readsPerMinute), String(rates.readsPerMinute))
    .replaceAll(String(TEMPLATE_RATES.writesPerMinute), String(rates.writesPerMinute));
