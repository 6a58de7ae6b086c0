/** Answers of the desk as texts for people. */
import { referenceOf } from '#src/ports/reference.ts';
import type { Outbound } from '#contracts/outreach/records.ts';
import { GOODS_STATES } from '#contracts/moves.ts';
import { type Dimension, METRICS } from '#contracts/performance/records.ts';
import { moneyText } from '#src/shared/cells.ts';
import { rolesText } from '#src/shared/roles.ts';
import { visible, visibleLine } from '#src/shared/visible.ts';
import { type CommonOptions, commandFor, LOGIN } from './options.ts';
import { formatTable, formatCount, formatPlural, style } from './terminal.ts';
import type { DeskAnswer } from './transport.ts';

type ListPage<Row extends object = object> = {
  data: readonly Row[];
  next_before?: number | null;
};

const isMoney = (value: object): value is { amount: number; currency: string } =>
  'amount' in value && 'currency' in value;

const valueText = (value: unknown): string => {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'string') return visibleLine(value);
  if (typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return value.map(valueText).join(',') || '-';
  if (isMoney(value)) return moneyText(value);
  return Object.values(value).map(valueText).join(' ');
};

const memberAt = (row: object, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], row);

const headingOf = (path: string): string =>
  path
    .replace(/^\w+\./, '')
    .replace(/_id$/, '')
    .replaceAll('_', ' ')
    .toUpperCase();

const scalarsOf = (row: object): string =>
  Object.entries(row)
    .flatMap(([name, value]) => (typeof value === 'object' ? [] : name))
    .join(' ');

/** Answers for programs name lists, RFQs and leads by their ids; people name them by references. */
const withReference = (row: object): object => {
  const { handoff_id, id = handoff_id } = row as { id?: string; handoff_id?: string };
  return id === undefined ? row : { reference: referenceOf(id), ...row };
};

/**
 * Formats a page as a table. `columns`: paths of members, separated by spaces; default: the members of the
 * first row that are neither lists nor objects. A column `reference` is derived from the id where the row has none.
 */
const formatPage = ({ data, next_before }: ListPage, columns?: string): string => {
  const [first] = data;
  if (!first) return 'None.';
  const paths = (columns ?? scalarsOf(first)).split(' ');
  const table = formatTable([
    paths.map(headingOf),
    ...data.map((row) => paths.map((path) => valueText(memberAt(withReference(row), path)))),
  ]);
  return typeof next_before === 'number' ? `${table}\nMore: --before ${next_before}` : table;
};

/** Formats an answer by the names of its members; each object of a list has a line. */
const formatRecord = (answer: object): string =>
  formatTable(
    Object.entries(answer).flatMap(([name, value]) => {
      const items = Array.isArray(value) && typeof value[0] === 'object' ? value : [value];
      return items.map((item, i) => [i === 0 ? name : '', valueText(item)]);
    }),
  );

export const formatAnswer = (answer: object, columns?: string): string =>
  'data' in answer && Array.isArray(answer.data)
    ? formatPage(answer as ListPage, columns)
    : formatRecord(answer);

export const stateText = ({ id, owner_id, state }: DeskAnswer<'disableLink'>): string =>
  `${id} of ${owner_id} is ${state}.`;

const proposalText = ({
  proposed,
}: {
  proposed?: { number: number; to: string } | undefined;
}): string =>
  proposed
    ? ` Proposal ${proposed.number}, to ${proposed.to}, waits for the approval of another person.`
    : '';

export const leadText = (answer: DeskAnswer<'moveLead'>): string =>
  stateText(answer) + proposalText(answer);

export const rfqText = (answer: DeskAnswer<'moveRfq'>): string =>
  `The RFQ of ${answer.id} of ${answer.owner_id} is ${answer.state}.${proposalText(answer)}`;

type Goods = DeskAnswer<'allocateGoods'>['goods'];

/** The lines of a won RFQ with where their goods are, the shipments, and what the catalog has too little of. */
const goodsLines = ({ lines, shipments }: Goods): string[] => {
  const used = GOODS_STATES.filter((one) => lines.some((line) => line[one] !== undefined));
  const short = lines.filter(({ warnings }) => warnings);
  return [
    formatTable([
      ['LINE', 'SKU', 'WON', ...used.map((one) => one.toUpperCase()), 'FROM'],
      ...lines.map((line) => [
        line.line_id,
        visibleLine(line.sku),
        String(line.quantity),
        ...used.map((one) => String(line[one] ?? 0)),
        visibleLine(line.source ?? ''),
      ]),
    ]),
    ...shipments.map(({ number, shipped_on, delivered_on, carrier = '', reference = '' }) =>
      `Shipment ${number}: shipped ${shipped_on}${delivered_on === undefined ? '' : `, delivered ${delivered_on}`} ${visibleLine(carrier)} ${visibleLine(reference)}`.trim(),
    ),
    ...short.map(
      ({ sku, line_id }) =>
        `Warning: line ${line_id} (${visibleLine(sku)}) has more than the catalog had in stock.`,
    ),
  ];
};

export const goodsText = (answer: DeskAnswer<'allocateGoods'>): string =>
  [
    `The goods of ${answer.id} of ${answer.owner_id} are ${answer.goods.state}; what is left comes to ${amountsText(answer.won_value)}.${proposalText(answer)}`,
    ...goodsLines(answer.goods),
  ].join('\n');

type ShownRfq = DeskAnswer<'readRfq'>;

const listText = ({ line_items, indicative_totals }: ShownRfq): string =>
  formatTable([
    ['LINE', 'SKU', 'TITLE', 'QUANTITY', 'UNIT PRICE', 'TO LOOK AT'],
    ...line_items.map(({ line_id, sku, title, quantity, ...line }) => [
      line_id,
      visibleLine(sku),
      visibleLine(title),
      String(quantity),
      moneyText(line.indicative_unit_price),
      valueText(line.warnings).replaceAll('_', ' '),
    ]),
    ['', '', 'indicative total', '', amountsText(indicative_totals), ''],
  ]);

const quotationLines = ({ quotation, won_with }: ShownRfq): string[] => {
  if (!quotation) return [];
  const { number, values, valid_until, lines, left_out, charges, terms } = quotation;
  const agreed =
    won_with?.number === number && won_with.agreed ? ', which the buyer agreed to' : '';
  return [
    '',
    `Quotation ${number}: ${amountsText(values)}, valid until ${timeText(valid_until)}${agreed}`,
    formatTable([
      ['LINE', 'SKU', 'TITLE', 'QUANTITY', 'UNIT PRICE', 'IN PLACE OF'],
      ...lines.map(({ line_id, sku, title, quantity, unit_price, replaces, reason }) => [
        line_id,
        visibleLine(sku),
        visibleLine(title),
        String(quantity),
        moneyText(unit_price),
        replaces ? visibleLine([replaces.sku, ...[reason ?? []].flat()].join(': ')) : '',
      ]),
      ...charges.map((charge) => ['', '', visibleLine(charge.label), '', moneyText(charge), '']),
    ]),
    ...left_out.map(({ line_id, reason = '' }) =>
      `Line ${line_id} is left out. ${visibleLine(reason)}`.trim(),
    ),
    ...(terms === undefined ? [] : [`Terms: ${visibleLine(terms)}`]),
  ];
};

/** The RFQ as a person reads it: who asks, for what, what was quoted, what waits, and where the goods are. */
export const shownRfqText = (rfq: ShownRfq): string => {
  const { contact, confirmed_by: by, proposed, claimed_by, leads, questions, goods } = rfq;
  const facts = {
    state: [rfq.state, by && `confirmed by ${by === 'mailbox' ? 'the buyer' : by}`],
    reason: [rfq.reason],
    sent: [timeText(rfq.submitted_at)],
    ...Object.fromEntries(Object.entries(contact).map(([name, value]) => [name, [value]])),
    'won value': [rfq.won_value && amountsText(rfq.won_value)],
    waits: [
      proposed &&
        `proposal ${proposed.number}, to ${proposed.to} ${amountsText(proposed.values ?? [])}, of ${proposed.by_name ?? proposed.by}: another person approves it`,
    ],
    leads: leads.map(({ lead_id, state }) => `${lead_id} (${state})`),
    claimed: [claimed_by && `by ${claimed_by.owner_id}, with the lead ${claimed_by.lead_id}`],
    evidence: rfq.evidence,
  };
  const shown = Object.entries(facts).flatMap(([name, values]) => {
    const known = values.filter((value) => value !== undefined);
    return known.length === 0 ? [] : [[`  ${name}`, known.map(valueText).join('; ')]];
  });
  return [
    `${style('bold', rfq.handoff_id)} of ${rfq.owner_id}: ${visibleLine(rfq.title)}`,
    formatTable(shown),
    '',
    listText(rfq),
    ...quotationLines(rfq),
    ...questions.flatMap(({ number, question, answer }) => [
      '',
      `Question ${number}: ${visibleLine(question)}`,
      answer === undefined ? '  No answer yet.' : `  ${visibleLine(answer)}`,
    ]),
    ...(goods ? ['', `The goods are ${goods.state}.`, ...goodsLines(goods)] : []),
  ].join('\n');
};

export const planText = ({
  record_id,
  assigned_to,
  due_at,
  notes,
}: DeskAnswer<'addNote'>): string =>
  [
    `${record_id} is assigned to ${assigned_to ?? 'no person'}`,
    due_at === undefined ? 'has no next step' : `its next step is due at ${due_at}`,
    `notes: ${notes}.`,
  ].join('; ');

type Contact = DeskAnswer<'findPersonalData'>['contact'];

const refusedLines = ({ refused }: Contact): string[] =>
  refused.map(
    ({ owner_id, since }) => `Contact by ${owner_id ?? 'all promoters'} is refused since ${since}.`,
  );

export const foundText = ({ contact, ...page }: DeskAnswer<'findPersonalData'>): string =>
  [formatPage(page), ...refusedLines(contact)].join('\n');

/** What was recorded about contact with a person, and the records that it binds. */
export const contactText = ({ contact, ...page }: DeskAnswer<'refuseContact'>): string =>
  [
    page.data.length === 0
      ? 'Recorded. No record has this mailbox now.'
      : `Recorded. It binds these records:\n${formatPage(page)}`,
    ...refusedLines(contact),
  ].join('\n');

export const refusalsText = ({ contact }: DeskAnswer<'allowContact'>): string =>
  ['Recorded.', ...refusedLines(contact)].join(contact.refused.length === 0 ? '' : '\n');

export const exportText = (answer: DeskAnswer<'exportPersonalData'>): string =>
  visible(JSON.stringify(answer, null, 2)).shown;

type Projection = DeskAnswer<'listProjections'>['data'][number];

const skippedText = (skipped: number): string =>
  skipped > 0 ? `, without ${formatPlural(skipped, 'skipped event')}` : '';

const projectionState = ({ skipped, held, ...projection }: Projection): string => {
  const state = foldState(projection) + skippedText(skipped);
  return held === undefined ? state : `${state}; ${held} is held`;
};

const foldState = ({
  parked: [first],
  rebuilding,
  lag_events,
}: Omit<Projection, 'skipped' | 'held'>): string => {
  if (first) return `parked at ${first.position} in partition ${first.partition}: ${first.reason}`;
  if (rebuilding)
    return `rebuilding ${rebuilding.space || 'it'}: ${rebuilding.position}/${rebuilding.head}`;
  return lag_events === 0 ? 'caught up' : `${formatCount(lag_events)} behind`;
};

type RowChange = NonNullable<DeskAnswer<'readHeldBuild'>['comparison']>['first'][number];

const changeText = ({ scope, key, before, after }: RowChange): string => {
  const value = (json: string | null): string => (json === null ? 'no row' : visibleLine(json));
  return `  ${scope}/${key}\n    before  ${value(before)}\n    after   ${value(after)}`;
};

/** How a held build differs from the live rows, and the commands that decide on it. */
export const heldText = (
  { name, space, comparison }: DeskAnswer<'readHeldBuild'>,
  options: CommonOptions,
): string => {
  const decide = [
    `Make it live with: ${commandFor(`projections switch ${name}`, options)}`,
    `Drop it with: ${commandFor(`projections drop ${name}`, options)}`,
  ];
  if (!comparison) {
    const again = commandFor(`projections rebuild ${name} --hold`, options);
    return [`${space} is held, and not compared. Compare it with: ${again}`, ...decide].join('\n');
  }
  const { rows, different, only_live, only_held, fields, first } = comparison;
  const skipped = comparison.partitions_not_compared;
  return [
    different === 0
      ? `${space} is held, and equal to the ${formatPlural(rows, 'live row')}`
      : `${space} is held. ${formatPlural(different, 'row')} of ${formatCount(rows)} differ: ${formatCount(only_live)} only live, ${formatCount(only_held)} only in the build`,
    ...fieldCounts(fields),
    ...(skipped.length > 0 ? [`Partitions that could not be compared: ${skipped.join(', ')}`] : []),
    ...first.map(changeText),
    ...decide,
  ].join('\n');
};

const fieldCounts = (fields: Readonly<Record<string, number>>): string[] => {
  const counts = Object.entries(fields).toSorted(([, a], [, b]) => b - a);
  if (counts.length === 0) return [];
  return [
    `By field: ${counts.map(([field, count]) => `${field} ${formatCount(count)}`).join(', ')}`,
  ];
};

/** Says which rows of an owner were replaced, and what this kind of rebuild does not find. */
export const ownerRowsText = (
  { name, owner }: DeskAnswer<'rebuildProjection'>,
  options: CommonOptions & { owner: string },
): string => {
  if (!owner) return '';
  const { rows, replaced, fields, first, shared, partitions_not_replaced: left } = owner;
  const mark = left.length > 0 || shared.length > 0 ? style('red', '✗') : style('green', '✓');
  return [
    `${mark} ${name}: ${formatPlural(rows, 'row')} of ${options.owner} compared, ${formatCount(replaced)} replaced`,
    ...fieldCounts(fields),
    ...first.map(changeText),
    ...shared.map(
      ({ scope, key }) =>
        `Not replaced, because events of others place it as well: ${scope}/${key}`,
    ),
    ...(left.length > 0
      ? [`Not replaced, because their partitions are parked or behind: ${left.join(', ')}`]
      : []),
    `Not looked for: surplus rows in lists of all owners, and wrong entries of lists. To replace all: ${commandFor(`projections rebuild ${name}`, options)}`,
  ].join('\n');
};

export const droppedText = ({ name, space }: DeskAnswer<'dropBuild'>): string =>
  `${space} is dropped. The live rows of ${name} are as they were.`;

const limitsText = ({ paused, events_per_second: limit }: DeskAnswer<'limitFills'>): string => {
  const most = limit === undefined ? '' : `at most ${formatPlural(limit, 'event')} a second`;
  return [paused && 'paused', most].filter(Boolean).join(', ') || 'without a limit';
};

export const fillsText = (limits: DeskAnswer<'limitFills'>): string =>
  `Fills of read models: ${limitsText(limits)}. Live read models are not affected.`;

export const projectionsText = ({ head, fills, data }: DeskAnswer<'listProjections'>): string =>
  formatTable([
    ['READ MODEL', 'SPACE', 'CHECKPOINT', 'STATE'],
    ...data.map((one) => [
      one.name,
      one.space || '-',
      formatCount(one.checkpoint),
      projectionState(one),
    ]),
    ['log', '', formatCount(head), fills ? `fills: ${limitsText(fills)}` : ''],
  ]);

type Parked = DeskAnswer<'listParked'>['data'][number];
type SkipAnswer = DeskAnswer<'proposeSkip'>;

const eventText = ({ type, position, stream, event_id }: Parked | SkipAnswer): string =>
  `${type} at position ${position} of ${stream}, event ${event_id}`;

const parkedEventText = (parked: Parked): string => {
  const { name, partition, since, reason, proposed } = parked;
  const lines = [
    `${name}: ${eventText(parked)}`,
    `  parked    partition ${partition}, whose rows are as of ${since}`,
    `  reason    ${visibleLine(reason)}`,
  ];
  if (proposed)
    lines.push(
      `  skip      proposed by ${visibleLine(proposed.by_name ?? proposed.by)} at ${proposed.at}, waits for another person: ${visibleLine(proposed.reason)}`,
    );
  return lines.join('\n');
};

export const parkedText = (
  { data, skipped }: DeskAnswer<'listParked'>,
  options: CommonOptions,
): string => {
  const [first] = data;
  const named = first?.proposed
    ? `projections approve-skip ${first.name} ${first.position}`
    : first && `projections skip ${first.name} ${first.position} --reason TEXT`;
  return [
    ...(data.length > 0 ? data.map(parkedEventText) : ['No event is parked.']),
    ...(named === undefined
      ? []
      : [
          `Try again: ${commandFor('projections retry', options)}`,
          `${first?.proposed ? 'Approve the skip as another person' : 'Leave it out'}: ${commandFor(named, options)}`,
        ]),
    ...(skipped.length > 0 ? ['Skipped:'] : []),
    ...skipped.map((skip) => `  ${skip.name}: ${eventText(skip)}: ${visibleLine(skip.reason)}`),
  ].join('\n');
};

const OUTCOMES = {
  folded: 'folded; the partition follows the log',
  parked: 'still parked',
  running: 'still running: look again with projections parked',
} as const;

export const retriedText = ({ retried }: DeskAnswer<'retryParked'>): string =>
  retried.length === 0
    ? 'No event is parked, so there is nothing to try again.'
    : retried
        .map(
          ({ name, type, position, outcome, reason }) =>
            `${name}: ${type} at position ${position} is ${OUTCOMES[outcome]}${reason === undefined ? '' : `: ${visibleLine(reason)}`}`,
        )
        .join('\n');

export const skipText = (skip: SkipAnswer, options: CommonOptions): string => {
  const { name, position, state } = skip;
  return state === 'skipped'
    ? `${name} is folded without the ${eventText(skip)}.`
    : `Proposed: fold ${name} without the ${eventText(skip)}. Nothing has changed yet.\n` +
        `Another person approves it: ${commandFor(`projections approve-skip ${name} ${position}`, options)}`;
};

const SHA256_CHARS_SHOWN = 16;

const targetOf = ({ target }: Outbound): string =>
  Object.values(target)
    .filter((value) => value !== undefined)
    .join(' ');

const approvalsOf = ({ approval }: Outbound): string => {
  const given = approval.decisions.filter(({ decision }) => decision === 'approve').length;
  return `${given} of ${approval.required}`;
};

export const requestsText = ({ data, next_before }: DeskAnswer<'listApprovals'>): string => {
  const rows = data.map((request) => ({ ...request, approvals: approvalsOf(request) }));
  const columns = 'id status owner_id kind target schedule.not_after approvals';
  return formatPage({ data: rows, next_before }, columns);
};

export const requestText = (request: Outbound): string =>
  `${request.id} of ${request.owner_id} is ${request.status}.` +
  (request.status === 'pending_approval' ? `\n  ${approvalsOf(request)} approvals.` : '');

const decisionsText = ({ approval }: Outbound): string[] =>
  approval.decisions.map(({ at, by, name = by, role, decision, note }) => {
    const reason = note === undefined ? '' : `: ${visibleLine(note)}`;
    return `    ${at}  ${decision} by ${name} (${role})${reason}`;
  });

const factsText = (request: Outbound, sha256: string): string[] => {
  const { delivery, schedule, approval, status_reason: reason } = request;
  const facts = {
    status: request.status + (reason ? ` (${reason})` : ''),
    kind: request.kind,
    to: visibleLine(targetOf(request)),
    by: delivery.adapter,
    agent: request.agent_id,
    send: `${schedule.not_before ?? 'once approved'} to ${schedule.not_after}`,
    approval: `${approval.mode}, ${approvalsOf(request)}`,
    revision: String(request.revision),
    links: request.content.link_ids.join(' ') || 'none',
    sha256,
  };
  return Object.entries(facts).map(([name, value]) => `  ${name.padEnd(9)} ${value}`);
};

/** Who gets the letter with a review link, and the list behind it. */
const deliveryText = (delivery: NonNullable<DeskAnswer<'showApproval'>['delivery']>): string[] => {
  const { recipient, title, note_to_buyer, lines, how_asked } = delivery;
  return [
    ['mailbox', recipient],
    ['list', `${title} (${lines} ${lines === 1 ? 'line' : 'lines'})`],
    ...(note_to_buyer === undefined ? [] : [['note', note_to_buyer]]),
    ...how_asked.map((how) => ['asked', how]),
  ].map(([name = '', value = '']) => `  ${name.padEnd(10)}${visibleLine(value)}`);
};

/** Formats everything that a person needs for a decision, with invisible characters made visible. */
export const approvalText = (
  { request, delivery, recipient_fault, exact }: DeskAnswer<'showApproval'>,
  options: CommonOptions,
): string => {
  const { bytes, bytes_count, hidden, sha256, shown } = exact;
  const safe = visibleLine(bytes);
  const escaped = safe === bytes ? '' : ', with invisible characters as above';
  return [
    `${style('bold', request.id)} of ${request.owner_id}`,
    ...factsText(request, sha256),
    ...(recipient_fault === undefined ? [] : [`  ${style('yellow', `${recipient_fault}.`)}`]),
    ...(delivery ? deliveryText(delivery) : []),
    ...decisionsText(request),
    '',
    ...shown.split('\n').map((line) => `  | ${line}`),
    '',
    hidden.length === 0
      ? '  It has no invisible characters.'
      : `  ${style('yellow', `${hidden.length} invisible characters, written as ⟨U+…⟩ above:`)}`,
    ...hidden.map(
      ({ pointer, offset, code_point }) => `    ${pointer} at ${offset}: ${code_point}`,
    ),
    '',
    `  The ${bytes_count} bytes that would be sent${escaped}:`,
    `  ${safe}`,
    ...(request.status === 'pending_approval'
      ? [
          '',
          '  To approve exactly this:',
          `  ${commandFor(`approvals approve ${request.id} --sha256 ${sha256.slice(0, SHA256_CHARS_SHOWN)}${delivery ? ' --how-asked HOW' : ''}`, options)}`,
        ]
      : []),
  ].join('\n');
};

export type ShownEvent = DeskAnswer<'readEvents'>['data'][number];

const VALUE_CHARS_MAX = 48;
/** Members that mean nothing to a person. */
const HIDDEN = new Set(['hash', 'token_hash', 'fingerprint', 'visitor']);
const SEALED = /^s1\.[a-z]+_/;

const fieldText = (value: unknown): string => {
  if (typeof value !== 'string') return String(value);
  if (SEALED.test(value)) return '(sealed)';
  const cut = value.length > VALUE_CHARS_MAX ? `${value.slice(0, VALUE_CHARS_MAX - 1)}…` : value;
  const safe = visibleLine(cut);
  return /^[^\s"=]+$/.test(safe) ? safe : JSON.stringify(safe);
};

const memberText = (name: string, value: unknown): string[] => {
  if (HIDDEN.has(name.slice(name.lastIndexOf('.') + 1))) return [];
  if (typeof value === 'number' && /(_at|until|not_before|not_after)$/.test(name))
    return [`${name}=${new Date(value).toISOString()}`];
  if (Array.isArray(value)) {
    if (value.length === 0) return [];
    const isPlain = value.every((item) => typeof item === 'string');
    return [`${name}=${isPlain ? fieldText(value.join(',')) : value.map(itemText).join(',')}`];
  }
  if (typeof value !== 'object' || value === null) return [`${name}=${fieldText(value)}`];
  if (isMoney(value)) return [`${name}=${itemText(value)}`];
  return Object.entries(value).flatMap(([inner, member]) => memberText(`${name}.${inner}`, member));
};

/** Formats an item of a list: money, a line of a handoff, a price tier, or an audit record. */
const itemText = (item: unknown): string => {
  if (typeof item !== 'object' || item === null) return fieldText(item);
  if (isMoney(item)) return moneyText(item).replace(' ', ':');
  const { sku, quantity, min_quantity, unit_price, operation, surface, decision, code, count } =
    item as Record<string, string | number | undefined>;
  if (sku !== undefined) return `${sku}x${quantity}`;
  if (min_quantity !== undefined) return `${min_quantity}:${unit_price}`;
  if (operation === undefined) return '{…}';
  return `${surface}/${operation}:${code ?? decision}${count === 1 ? '' : `x${count}`}`;
};

/** Formats the data without what the stream and the actor say already; dimensions come last. */
export const formatData = ({
  data,
  stream,
  actor,
}: Pick<ShownEvent, 'data' | 'stream'> & { actor: unknown }): string => {
  const ownId = stream.slice(stream.indexOf('_') + 1);
  const { dims = {}, ...rest } = data as Record<string, unknown> & { dims?: object };
  return [...Object.entries(rest), ...Object.entries(dims)]
    .filter(([, value]) => value !== actor)
    .filter(([, value]) => typeof value !== 'string' || !value.endsWith(ownId))
    .flatMap(([name, value]) => memberText(name, value))
    .join(' ');
};

/** Returns the cells of a table row: position, time, type, surface, actor, stream, data. */
export const toCells = (event: ShownEvent): string[] => {
  const { position, at, type, stream, meta } = event;
  const { surface = '-', actor = '-' } = meta as { surface?: string; actor?: string };
  const time = at.replace('T', ' ').replace(/\.\d+Z$/, 'Z');
  const late = event.after_revocation ? '(after the revocation of its credential) ' : '';
  const data = late + formatData({ ...event, actor });
  return [String(position).padStart(6), time, type, surface, actor, stream, data];
};

type State = DeskAnswer<'auditState'>;
type Performance = DeskAnswer<'auditPerformance'>;
type Diff = DeskAnswer<'auditDiff'>;
type Act = DeskAnswer<'auditHistory'>['data'][number];
type Trace = DeskAnswer<'auditTrace'>;
type AsOf = { position: number; at: string | null };

const timeText = (at: string): string => at.replace('T', ' ').replace(/\.\d+Z$/, 'Z');

const asOfText = ({ position, at }: AsOf): string =>
  `As of position ${position}${at === null ? ', before the first event' : `, ${timeText(at)}`}.`;

type Named = { actor_name?: string | undefined; agent_name?: string | undefined };
type Agent = { agent_id?: string | undefined; agent_name?: string | undefined };

/** Name of the acting agent or desk user. */
const actorName = ({ actor_name, agent_name }: Named): string => {
  const name = actor_name ?? agent_name;
  return name === undefined ? '-' : visibleLine(name);
};

const byName = ({ agent_id, agent_name }: Agent): string =>
  [agent_name === undefined ? [] : visibleLine(agent_name), agent_id ?? []].flat().join(' ') || '-';

type Metrics = Performance['totals'];

const amountsText = (amounts: NonNullable<Metrics['won_value']>): string =>
  amounts.map(moneyText).join(' ') || '-';

const auditHeadingOf = (name: string): string => name.replaceAll('_', ' ').toUpperCase();

/** A table of rows that have the same members, whose names are the headings. */
const tableOf = (rows: readonly Record<string, string>[]): string =>
  formatTable([
    Object.keys(rows[0] ?? {}).map(auditHeadingOf),
    ...rows.map((row) => Object.values(row)),
  ]);

/** A table of the metrics that are not zero in any row. */
const metricsTable = (
  heads: readonly string[],
  rows: readonly { cells: readonly string[]; metrics: Metrics }[],
): string => {
  const used = METRICS.filter((name) => rows.some(({ metrics }) => (metrics[name] ?? 0) > 0));
  const amounts = (['rfq_value', 'won_value'] as const).filter((name) =>
    rows.some(({ metrics }) => (metrics[name] ?? []).length > 0),
  );
  if (used.length + amounts.length === 0) return 'None.';
  return formatTable([
    [...heads, ...used, ...amounts].map(auditHeadingOf),
    ...rows.map(({ cells, metrics }) => [
      ...cells.map(visibleLine),
      ...used.map((name) => String(metrics[name])),
      ...amounts.map((name) => amountsText(metrics[name] ?? [])),
    ]),
  ]);
};

type Counted = Pick<
  Performance,
  'data' | 'totals' | 'period' | 'comparison_period' | 'comparison_totals'
>;

/** A table of the counts; with a comparison, each row has one below it with the counts of the earlier period. */
const countedText = ({
  data,
  totals,
  period,
  comparison_period: earlier,
  comparison_totals: earlierTotals,
}: Counted): string => {
  const dimensions = Object.keys(data[0]?.dimensions ?? {});
  const blanks = dimensions.map(() => '');
  const withEarlier = (row: { cells: string[]; metrics: Metrics }, before: Metrics | undefined) =>
    before ? [row, { cells: ['  before', ...blanks], metrics: before }] : [row];
  const rows = data.flatMap(({ bucket_start, dimensions: values, names, metrics, comparison }) => {
    const cells = [
      bucket_start,
      ...Object.entries(values).map(([name, value]) => names?.[name as Dimension] ?? value ?? '-'),
    ];
    return withEarlier({ cells, metrics }, comparison);
  });
  const total = withEarlier({ cells: ['total', ...blanks], metrics: totals }, earlierTotals);
  const heads = [period.granularity, ...dimensions];
  return [
    `Performance from ${period.from} to ${period.to} (${period.time_zone})`,
    ...(earlier ? [`Before: from ${earlier.from} to ${earlier.to}`] : []),
    metricsTable(heads, [...rows, ...total]),
  ].join('\n');
};

export const auditStateText = ({ data, performance, next_before, as_of }: State): string =>
  [
    asOfText(as_of),
    formatPage(
      {
        data: data.map((row) => ({ ...row, agent: byName(row) })),
        next_before,
      },
      'kind id name status agent',
    ),
    ...(performance ? ['', countedText(performance)] : []),
  ].join('\n');

export const performanceText = (answer: Counted & Pick<Performance, 'page'>): string => {
  const { next_cursor } = answer.page;
  const more = next_cursor === null ? [] : [`More: --cursor ${next_cursor}`];
  return [countedText(answer), ...more].join('\n');
};

export const auditPerformanceText = (answer: Performance): string =>
  [asOfText(answer.as_of), performanceText(answer)].join('\n');

const auditedRequestText = ({
  actor,
  actor_name,
  request_id,
}: { actor: string; request_id: string } & Named): string =>
  [actor, actor_name === undefined ? [] : visibleLine(actor_name), request_id].flat().join('  ');

export const auditDiffText = ({ changes, numbers, next_after, from, to }: Diff): string => {
  const records = changes.map((change) => ({
    position: String(change.position),
    time: timeText(change.at),
    change: change.change,
    kind: change.kind,
    name: visibleLine(change.name),
    status: change.from === change.to ? change.to : `${change.from ?? ''} > ${change.to}`,
    event: change.type,
    actor: change.actor,
    actor_name: actorName(change),
    request: change.request_id,
  }));
  const days = numbers.map(({ day, metric, currency, from: earlier, to: later, ...cause }) => {
    const shown = (amount: number): string =>
      currency === undefined ? String(amount) : moneyText({ amount, currency });
    return {
      day,
      number: metric,
      from: shown(earlier),
      to: shown(later),
      last_event: String(cause.position),
      actor_and_request: auditedRequestText(cause),
    };
  });
  return [
    `From: ${asOfText(from)}`,
    `To:   ${asOfText(to)}`,
    '',
    records.length === 0 ? 'No record changed.' : tableOf(records),
    ...(next_after === null ? [] : [`More: --after ${next_after}`]),
    ...(days.length === 0 ? [] : ['', tableOf(days)]),
  ].join('\n');
};

/** `Name/1.2 (model)`, as a client names itself. */
const clientText = ({ name, version, model }: NonNullable<Act['client']>): string =>
  visibleLine(
    [[name, ...[version ?? []].flat()].join('/'), model && `(${model})`].filter(Boolean).join(' '),
  );

/** The cells of an act, by their headings. */
const actRow = (act: Act) => ({
  position: String(act.position),
  time: timeText(act.at),
  actor: act.actor,
  actor_name: actorName(act),
  key: act.key_id ?? '-',
  surface: act.surface,
  client: act.client === undefined ? '-' : clientText(act.client),
  act: act.outcome === 'done' ? act.type : act.operation,
  outcome:
    (act.code ?? act.outcome) + (act.count !== undefined && act.count > 1 ? ` x${act.count}` : ''),
  record: act.record ?? (act.asked === undefined ? '-' : visibleLine(act.asked)),
  request: act.request_id,
});

export const actCells = (act: Act): string[] => Object.values(actRow(act));

export const auditHistoryText = ({
  data,
  next_before,
  as_of,
}: DeskAnswer<'auditHistory'>): string =>
  [
    asOfText(as_of),
    data.length === 0 ? 'None.' : tableOf(data.map(actRow)),
    ...(next_before === null ? [] : [`More: --before ${next_before}`]),
  ].join('\n');

const rowsText = (rows: Trace['events'][number]['rows']): string[] =>
  rows.map(({ read_model, scope, key, change, members = [] }) => {
    const changed = members.length === 0 ? '' : `: ${members.join(', ')}`;
    return `           ${read_model} ${[scope, key].filter(Boolean).join('/')} ${change.replaceAll('_', ' ')}${changed}`;
  });

/** The files, one after another; each ends with its checkpoint. */
export const receiptsText = ({ receipts, retry_after_ms }: DeskAnswer<'getReceipts'>): string =>
  receipts
    .map(
      ({ type, stream, proof }) =>
        `${style('bold', type)} of ${stream}\n${proof ?? pendingText(retry_after_ms)}`,
    )
    .join('\n');

const RESULTS = {
  equal: 'equal: the agent got exactly this answer',
  not_equal: 'not equal',
  not_recorded: 'not recorded',
} as const;

export const auditReplayText = ({
  result,
  why,
  recorded,
  replayed,
  answer,
  ...about
}: DeskAnswer<'auditReplay'>): string =>
  [
    `${about.operation} of ${about.agent_id}, ${about.owner_id}, ${timeText(about.at)}`,
    `${style('bold', RESULTS[result])}${why === undefined ? '' : `: ${why}`}`,
    ...(recorded ? [`recorded ${hashText(recorded)}`] : []),
    ...(replayed ? [`again    ${hashText(replayed)}`] : []),
    ...(answer ? ['', JSON.stringify(answer, null, 2)] : []),
  ].join('\n');

const hashText = ({
  sha256,
  position,
  version,
}: NonNullable<DeskAnswer<'auditReplay'>['recorded']>): string =>
  `${sha256} at position ${position}, version ${version}`;

const pendingText = (ms: number | null): string => `pending: ask again in ${ms} ms`;

export const auditTraceText = ({ id, owner_id, events, audited, answer, more }: Trace): string => {
  const marks = { cause: ' ', subject: '*', effect: ' ' };
  const chain = events.flatMap((event) => [
    `${marks[event.relation]} ${String(event.position).padStart(6)}  ${timeText(event.at)}  ` +
      `${style('bold', event.type)}  ${event.surface}/${event.operation}  ${auditedRequestText(event)}`,
    `           ${formatData({ data: event.data, stream: event.stream, actor: event.actor })}`,
    ...rowsText(event.rows),
  ]);
  return [
    `${id} of ${owner_id}; its own events are marked with *`,
    ...chain,
    ...(more ? ['There are more events than are shown.'] : []),
    ...(audited.length === 0 ? [] : ['', tableOf(audited.map(actRow))]),
    ...(answer
      ? [
          '',
          `A retry of ${answer.operation} is answered:`,
          `  ${visibleLine(JSON.stringify(answer.value))}`,
        ]
      : []),
  ].join('\n');
};

/** Who acts, in a sentence. */
export const whoText = ({
  acts_as,
  name,
  id,
  roles,
  owners,
  session,
}: DeskAnswer<'whoAmI'>): string => {
  const held = rolesText({ roles, owners });
  if (acts_as === 'machine')
    return `The machine, which is nobody (${held}). To act as yourself: ${LOGIN}`;
  if (acts_as === 'token') return `The token ${name} (${id}): ${held}`;
  const until = session && `\nSigned in on ${session.device} until ${session.expires_at}.`;
  return `${name} (${id}): ${held}${until ?? ''}`;
};
