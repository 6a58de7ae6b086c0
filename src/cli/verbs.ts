/** The words, arguments and texts of commands that are one operation of the desk. */
import { setTimeout as pause } from 'node:timers/promises';
import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { LIMITS } from '#contracts/limits.ts';
import type { DeskOperation } from '#contracts/operation.ts';
import { CHANNEL_KINDS } from '#contracts/outreach/records.ts';
import { type DeskOperationId, deskOperations } from '#contracts/registries/desk.ts';
import { DESK } from '#src/calls/audit.ts';
import { everyPage } from '#src/reading/lists.ts';
import { moneyIn } from '#src/shared/cells.ts';
import { commandFor, type CommonOptions } from './options.ts';
import {
  ask,
  canAsk,
  isYes,
  followUntilInterrupted,
  CommandError,
  EXIT,
  formatTable,
  print,
  printNotice,
  type Progress,
  startProgress,
} from './terminal.ts';
import {
  actCells,
  contactText,
  refusalsText,
  droppedText,
  exportText,
  foundText,
  heldText,
  goodsText,
  approvalText,
  auditDiffText,
  auditHistoryText,
  auditPerformanceText,
  performanceText,
  auditReplayText,
  auditStateText,
  auditTraceText,
  receiptsText,
  requestsText,
  requestText,
  leadText,
  planText,
  projectionsText,
  parkedText,
  retriedText,
  skipText,
  rfqText,
  shownRfqText,
  stateText,
  whoText,
} from './texts.ts';
import type { Desk, DeskAnswer, DeskRequest } from './transport.ts';

type Answer = DeskAnswer<'auditHistory'>;

/** Refuses to follow the history of the desk, which gets a new act by each look at it. */
const requireFollowable = (
  _desk: Desk,
  request: Partial<DeskRequest<'auditHistory'>>,
  options: VerbOptions,
): Partial<DeskRequest<'auditHistory'>> => {
  if (!options.follow || request.owner_id !== DESK) return request;
  throw new CommandError(
    EXIT.usage,
    `the history of ${DESK} cannot be followed, because each look at it is a new act there. Use ${commandFor(`events tail --owner ${DESK} --follow`, options)}`,
  );
};

/**
 * Prints the acts after an answer, oldest first, until the command is interrupted. It asks for acts when the owner has a
 * new event only, because each audit is an event of the log itself.
 */
export const followActs = async (
  desk: Desk,
  request: Partial<DeskRequest<'auditHistory'>>,
  { answer, options }: { answer: Answer; options: VerbOptions },
): Promise<void> => {
  const { owner_id = '', to: _end, ...filters } = request;
  if (options.file !== undefined) {
    printNotice('Nothing is added to a file, so there is nothing to follow.');
    return;
  }
  if (!desk.server) {
    printNotice('No server runs on this directory, so there is nothing to follow.');
    return;
  }
  let from = answer.as_of.position;
  await followUntilInterrupted(async () => {
    const [newest] = (await desk.call('listHistory', { owner_id, limit: 1 })).data;
    if (!newest || newest.position <= from) return;
    const page = { ...filters, owner_id, limit: LIMITS.PAGE_ROWS_MAX, from: String(from) };
    const later = await everyPage((before) => desk.call('auditHistory', { ...page, before }));
    const acts = later.data.toReversed();
    if (options.json) for (const act of acts) print(JSON.stringify(act));
    else if (acts.length > 0) print(formatTable(acts.map(actCells)));
    // Not the position of the last page: acts may have come since the first one.
    from = Math.max(newest.position, acts.at(-1)?.position ?? 0);
  });
};

const PRIVACY_VERBS: Verbs = {
  findPersonalData: { words: 'privacy find', args: ['mailbox'], text: foundText },
  exportPersonalData: { words: 'privacy export', args: ['mailbox'], text: exportText },
  refuseContact: { words: 'privacy withdraw', args: ['mailbox'], text: contactText },
  allowContact: { words: 'privacy lift', args: ['mailbox'], text: refusalsText },
  erasePersonalData: { words: 'privacy erase', args: ['mailbox'] },
};

/** Most answers arrive before the first look. */
const LOOK_EVERY_MS = 500;

/**
 * Shows how far a long audit has read an owner's history, and returns the answer. A signal meanwhile prints how far the
 * audit is and ends the process.
 */
const showReading = async <Answer>(
  desk: Desk,
  { owner_id = '' }: { owner_id?: string },
  answer: Promise<Answer>,
): Promise<Answer> => {
  const answered = new AbortController();
  const { signal } = answered;
  const look = async (): Promise<void> => {
    let bar: Progress | undefined;
    try {
      while (!signal.aborted) {
        await pause(LOOK_EVERY_MS, undefined, { signal });
        const { reading } = await desk.call('auditProgress', { owner_id });
        if (signal.aborted || !reading) continue;
        bar ??= startProgress({ label: `history of ${owner_id}`, total: 0, unit: 'positions' });
        bar.update(reading.position, reading.up_to);
      }
    } catch {
      // Answered during the pause, or the look failed: the answer itself says why.
    } finally {
      bar?.stop();
    }
  };
  const looking = look();
  try {
    return await answer;
  } finally {
    answered.abort();
    await looking;
  }
};

type Decision = Partial<DeskRequest<'approveOutbound'>>;

const HASH_CHARS = 64;

const parseHash = (text: string): string => {
  if (/^[0-9a-f]{12,64}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be the first 12 to 64 digits that show prints.');
};

const showRequest = (desk: Desk, { outbound_id = '', owner_id }: Decision) =>
  desk.call('showApproval', { outbound_id, owner_id });

/** Completes the hash of the content: of its first digits, or of the present content where none is given. */
const completeHash = async <Input extends Decision>(desk: Desk, input: Input): Promise<Input> => {
  const { content_sha256: given = '' } = input;
  if (given.length === HASH_CHARS) return input;
  const present = (await showRequest(desk, input)).request.content_sha256;
  // A hash that no content has is refused as a mismatch.
  const hash = present.startsWith(given) ? present : given.padEnd(HASH_CHARS, '0');
  return { ...input, content_sha256: hash };
};

/** Requires a look at the content: with the hash of it, or by showing the content and asking on a terminal. */
const confirmContent = async (
  desk: Desk,
  input: Decision,
  options: CommonOptions,
): Promise<Decision> => {
  if (input.content_sha256 !== undefined) return completeHash(desk, input);
  const { outbound_id: id = '' } = input;
  if (!canAsk(options))
    throw new CommandError(
      EXIT.usage,
      `name the content: look at it with ${commandFor(`approvals show ${id}`, options)}, and approve it with --sha256 HASH`,
    );
  const approval = await showRequest(desk, input);
  printNotice(approvalText(approval, options));
  if (!isYes(await ask('\nApprove exactly this? [y/N] ')))
    throw new CommandError(EXIT.refused, 'Nothing was approved.');
  return { ...input, content_sha256: approval.request.content_sha256 };
};

export const parseMoney = (text: string): { amount: number; currency: string } => {
  const money = moneyIn(text);
  if (money) return money;
  throw new InvalidArgumentError('It must be like "129.50 GBP".');
};

const MONEY_LIST = {
  placeholder: 'money',
  about: 'Repeatable, once for each currency: "129.50 GBP"',
  parse: (text: string, before: unknown = []) => [
    ...(before as ReturnType<typeof parseMoney>[]),
    parseMoney(text),
  ],
};

type QuoteRequest = DeskRequest<'quoteRfq'>;

/** `2=out`, or `2=`, a quantity, the SKU of another product and a price, each of which can be missing; and a reason. */
const LINE = /^(\d+)=(?:(out)|(?:(\d+) ?x)? ?(?:sku ([^ ]+))? ?(?:at (\S+ [A-Z]{3}))?)(?:: (.+))?$/;

/** Parses `3=50 x sku KIT-104 at 3.10 GBP: the blue one is sold out`. */
const parseLine = (text: string) => {
  const [, line_id = '', out, quantity, sku, price, reason] = LINE.exec(text) ?? [];
  if (line_id === '')
    throw new InvalidArgumentError(
      'It must be like "1=at 4.20 GBP", "2=50 x", "3=sku KIT-104 at 3.10 GBP: the blue one is sold out" or "4=out: sold out".',
    );
  return {
    line_id,
    ...(out && { leave_out: true as const }),
    ...(quantity && { quantity: Number(quantity) }),
    ...(sku && { sku }),
    ...(price && { unit_price: parseMoney(price) }),
    ...(reason && { reason }),
  };
};

/** Parses `Shipping=12.00 GBP`. */
const parseCharge = (text: string) => {
  const [label = '', price] = text.split('=');
  if (price === undefined) throw new InvalidArgumentError('It must be like "Shipping=12.00 GBP".');
  return { label, ...parseMoney(price) };
};

const QUOTE_LINES = {
  placeholder: 'line',
  about:
    'Repeatable, for each line that differs: "1=at 4.20 GBP", "2=50 x", "3=sku KIT-104: sold out", "4=out: sold out"',
  parse: (text: string, before: unknown = []) => [
    ...(before as NonNullable<QuoteRequest['lines']>),
    parseLine(text),
  ],
};

const CHARGES = {
  placeholder: 'charge',
  about: 'Repeatable: "Shipping=12.00 GBP"',
  parse: (text: string, before: unknown = []) => [
    ...(before as NonNullable<QuoteRequest['charges']>),
    parseCharge(text),
  ],
};

/** `2`, `2=5` and, where goods come from, `2=5 from Shelf B-12`. */
const GOODS_LINE = /^(\d+)(?:=(\d+))?(?: from (.+))?$/;

const parseGoods = (text: string) => {
  const [, line_id = '', quantity, source] = GOODS_LINE.exec(text) ?? [];
  if (line_id === '')
    throw new InvalidArgumentError('It must be like "2", "2=5" or "2=5 from Shelf B-12".');
  return { line_id, ...(quantity && { quantity: Number(quantity) }), ...(source && { source }) };
};

/** A `source` is refused where the operation has none. */
const GOODS_LINES = {
  placeholder: 'line',
  about:
    'Repeatable: "2" for all of line 2, "2=5" for 5 of it; to allocate, also "2=5 from Shelf B-12"',
  parse: (text: string, before: unknown = []) => [
    ...(before as ReturnType<typeof parseGoods>[]),
    parseGoods(text),
  ],
};

const goodsVerb = (verb: string) => ({
  words: `rfq ${verb}`,
  fields: { lines: GOODS_LINES },
  text: goodsText,
});

type Channel = DeskRequest<'configureOutreach'>['channels'][number];

/**
 * Parses `message=webhook:https://…` and adds it to the channels before. An exclamation mark after webhook
 * says that the receiver accepts each webhook-id once.
 */
const parseChannel = (text: string, before: unknown = []): Channel[] => {
  const [, name = '', adapter = '', idempotent, url] =
    /^(\w+)=(file|a2a|webhook)(!)?(?::(.+))?$/.exec(text) ?? [];
  const kind = CHANNEL_KINDS.find((one) => one === name);
  if (!kind)
    throw new InvalidArgumentError(
      `It must be like social_post=file, message=webhook:https://… or agent_notification=a2a.`,
    );
  const channel = {
    kind,
    adapter: adapter as Channel['adapter'],
    ...(url !== undefined && { url }),
    ...(idempotent !== undefined && { receiver_idempotent: true }),
  };
  return [...(before as Channel[]), channel];
};

/** Parses `category:Gifts`. The desk checks the kind. */
const parseTarget = (text: string): { kind: string; ref: string } => {
  const [kind = '', ...ref] = text.split(':');
  if (ref.length > 0) return { kind, ref: ref.join(':') };
  throw new InvalidArgumentError('It must be like product:SKU-1, category:Gifts or search:mug.');
};

const erasedText = ({ subject, key }: DeskAnswer<'eraseSubject'>): string => {
  const state = {
    destroyed: 'the key is destroyed, so its personal data cannot be read any more',
    never: 'it had no key, because none of its data was encrypted',
  }[key];
  return `${subject}: ${state}.`;
};

const haltText = ({ owner_id, halted }: DeskAnswer<'haltOutreach'>): string =>
  `Outreach of ${owner_id ?? 'all promoters'} is ${halted === null ? 'running' : `halted: ${halted}`}.`;

/** The key alone is on stdout, so that it can be piped into a secret store. */
const KEY = {
  notice: ({ id, agent_id, environment, expires_at }: DeskAnswer<'issueKey'>): string =>
    `Key ${id} of ${agent_id} (${environment}), valid until ${expires_at}. It is shown only once:`,
  text: ({ api_key }: DeskAnswer<'issueKey'>): string => api_key,
};
const DECISION = {
  fields: {
    content_sha256: {
      placeholder: 'hex',
      about: 'Hash of the content that you have seen, or its first 12 digits',
      isOptional: true,
      parse: parseHash,
    },
  },
  complete: completeHash,
  text: requestText,
};

/** Audits that an exported file also answers. */
const OF_FILE = { flags: { '--file <file>': 'Answer from this file of audit export' } };
/** Audits that fold the whole history. */
const OF_FOLD = { ...OF_FILE, awaitAnswer: showReading };

/** The owner is what these commands are about. */
const OWNER = { args: ['owner_id'] };

/** The link alone is the result, so that it can be handed on. */
const INVITED = {
  notice: ({ name, status, invitation_expires_at = '' }: DeskAnswer<'invitePerson'>) =>
    `${name} is ${status}. The link is on its way by mail; it works once, until ${invitation_expires_at}:`,
  text: ({ invitation_url }: DeskAnswer<'invitePerson'>) => invitation_url,
};

const VERBS: Verbs = {
  suspendAgent: { words: 'access suspend' },
  reinstateAgent: { words: 'access reinstate' },
  listAgents: {
    words: 'access list',
    readsAllPages: true,
    columns: 'id status name granted_scopes requested_scopes pending.name',
  },
  issueKey: {
    ...KEY,
    fields: {
      environment: { value: 'test', about: 'Issue a key that acts in a separate space of records' },
    },
  },
  rotateKey: KEY,
  readAgent: { words: 'access show' },
  readKey: { words: 'key show' },
  listKeys: {
    readsAllPages: true,
    columns: 'id status agent_id prefix last4 last_used_at expires_at',
  },
  issueDeskToken: {
    words: 'token issue',
    notice: ({ id, name, roles }) =>
      `Token ${id} for ${name}: ${roles.join(', ')}. It is shown only once:`,
    text: ({ token }) => token,
  },
  listDeskTokens: {
    words: 'token list',
    readsAllPages: true,
    columns: 'id name status roles owner_id last_used_at expires_at',
  },
  revokeDeskToken: { words: 'token revoke' },
  invitePerson: { ...INVITED, words: 'people invite' },
  invitePersonAgain: { ...INVITED, words: 'people invite-again' },
  listPeople: {
    words: 'people list',
    readsAllPages: true,
    columns: 'id name status roles owners ways last_sign_in_at invited_by',
  },
  readPerson: { words: 'people show' },
  changePersonRoles: { words: 'people roles' },
  endPerson: { words: 'people end' },
  whoAmI: { words: 'whoami', text: whoText },
  listSessions: { columns: 'id used_in device place started_at used_at expires_at is_current' },
  importProducts: { words: 'catalog import' },
  listProducts: {
    words: 'catalog list',
    columns: 'sku title category stock.level stock.available_quantity stock.as_of updated_at',
  },
  readProduct: { words: 'catalog show', args: ['product'] },
  withdrawProduct: { words: 'catalog withdraw', args: ['sku'] },
  moveLead: {
    fields: {
      value: {
        placeholder: 'money',
        about: 'Value of a won lead, like "129.50 GBP"',
        parse: parseMoney,
      },
    },
    text: leadText,
  },
  correctLead: {
    fields: { value: { placeholder: 'money', about: 'Like "129.50 GBP"', parse: parseMoney } },
    text: leadText,
  },
  approveLeadMove: { words: 'lead approve', text: leadText },
  refuseLeadMove: { words: 'lead refuse', text: leadText },
  moveRfq: { text: rfqText },
  quoteRfq: { fields: { lines: QUOTE_LINES, charges: CHARGES }, text: rfqText },
  answerQuestion: { words: 'rfq answer', text: rfqText },
  correctRfq: { fields: { values: MONEY_LIST }, text: rfqText },
  approveRfqMove: { words: 'rfq approve', text: rfqText },
  refuseRfqMove: { words: 'rfq refuse', text: rfqText },
  allocateGoods: goodsVerb('allocate'),
  shipGoods: goodsVerb('ship'),
  deliverGoods: { words: 'rfq deliver', text: goodsText },
  cancelGoods: goodsVerb('cancel'),
  returnGoods: goodsVerb('return'),
  listOpenLeads: {
    words: 'lead list',
    columns: 'reference id owner_id state agent_id company.name claim_expires_at needs_approval',
  },
  listOwnerLeads: {
    words: 'lead all',
    columns: 'reference id state company.name agent_id outcome_value updated_at',
  },
  listRfqs: {
    columns:
      'reference handoff_id owner_id title state goods submitted_at indicative_totals needs_approval evidence',
  },
  listAccessRequests: {
    words: 'access requests',
    columns: 'agent_id owner_id outcome requested_at name scopes granted_scopes reason',
  },
  assignRecord: { words: 'plan assign', text: planText },
  addNote: { words: 'plan note', text: planText },
  planNextStep: { words: 'plan step', text: planText },
  endNextStep: { words: 'plan done', text: planText },
  readPlan: { words: 'plan show' },
  listInbox: {
    words: 'inbox list',
    // Oldest first, unless the command continues from newer ones.
    complete: (_desk, input) =>
      input.before === undefined ? { ...input, after: input.after ?? 0 } : input,
    columns:
      'reference waits_for state since title company totals owner_id agent_name assigned_name due_at',
  },
  countInbox: { words: 'inbox counts' },
  searchDesk: {
    words: 'search',
    args: ['text'],
    columns: 'kind reference id owner_id name by',
  },
  withdrawHandoff: { text: stateText },
  invalidateHandoff: { text: stateText },
  readRfq: { words: 'rfq show', text: shownRfqText },
  listHandoffs: { columns: 'reference id status rfq.state agent_id lines expires_at title' },
  disableLink: { text: stateText },
  listLinks: { columns: 'id status agent_id campaign target short_url' },
  eraseSubject: {
    words: 'erase',
    text: erasedText,
  },
  ...PRIVACY_VERBS,
  configureOutreach: {
    fields: {
      channels: {
        placeholder: 'kind=adapter',
        about:
          'Repeatable: social_post=file, message=webhook:https://…, agent_notification=a2a; ' +
          'webhook! for a receiver that accepts each webhook-id once',
        parse: parseChannel,
      },
    },
    flags: {
      '--rotate-secret': 'Make a new webhook secret; for 24 hours the previous one signs, too',
    },
    complete: (_desk, { channels = [], ...input }, { rotateSecret }) => ({
      ...input,
      channels: rotateSecret ? channels.map((one) => ({ ...one, rotate_secret: true })) : channels,
    }),
  },
  setAutomaticDelivery: { words: 'outreach automatic-delivery', args: ['owner_id'] },
  getOutreach: { words: 'outreach show' },
  haltOutreach: { text: haltText },
  resumeOutreach: { text: haltText },
  setOwnerProfile: {
    ...OWNER,
    words: 'owner set',
    fields: { fallback: { placeholder: 'kind:ref', parse: parseTarget } },
  },
  readOwnerProfile: { ...OWNER, words: 'owner show' },
  listOwners: {
    words: 'owner list',
    readsAllPages: true,
    columns: 'owner_id name mailbox_confirmed last_activity_at',
  },
  confirmOwnerMailbox: { ...OWNER, words: 'owner confirm' },
  removeOwnerProfile: { ...OWNER, words: 'owner remove' },
  listApprovals: { words: 'approvals list', text: requestsText },
  showApproval: { words: 'approvals show', text: approvalText },
  approveOutbound: {
    ...DECISION,
    words: 'approvals approve',
    complete: confirmContent,
    help: 'Without --sha256 it shows the content and asks, on a terminal.',
  },
  refuseOutbound: { ...DECISION, words: 'approvals refuse' },
  requestOutboundChanges: { ...DECISION, words: 'approvals request-changes' },
  reviseOutbound: { ...DECISION, words: 'approvals revise' },
  cancelOutbound: { words: 'approvals cancel', text: requestText },
  observeOutbound: { words: 'approvals observe', text: requestText },
  listHistory: { words: 'events history' },
  listOwnerChanges: { words: 'events changes' },
  readEvents: { words: 'events show' },
  listProjections: { words: 'projections status', text: projectionsText },
  rebuildProjection: { words: 'projections rebuild' },
  readHeldBuild: { words: 'projections held', text: heldText },
  switchBuild: { words: 'projections switch' },
  dropBuild: { words: 'projections drop', text: droppedText },
  limitFills: { words: 'projections throttle' },
  verifyProjection: { words: 'projections verify' },
  listParked: { words: 'projections parked', text: parkedText },
  retryParked: { words: 'projections retry', args: ['name'], text: retriedText },
  proposeSkip: { words: 'projections skip', args: ['name', 'event'], text: skipText },
  approveSkip: { words: 'projections approve-skip', args: ['name', 'event'], text: skipText },
  auditState: { ...OF_FOLD, words: 'audit state', hasJsonRows: true, text: auditStateText },
  readOwnerRecord: { words: 'record show', args: ['id'] },
  showPerformance: { words: 'performance', text: performanceText },
  auditPerformance: { ...OF_FOLD, words: 'audit performance', text: auditPerformanceText },
  auditDiff: { ...OF_FOLD, words: 'audit diff', text: auditDiffText },
  auditProgress: { words: 'audit progress' },
  auditHistory: {
    ...OF_FILE,
    words: 'audit history',
    hasJsonRows: true,
    text: auditHistoryText,
    flags: { ...OF_FILE.flags, '--follow': 'Show new acts until the command is interrupted' },
    complete: requireFollowable,
    follow: followActs,
  },
  auditExport: { words: 'audit export' },
  auditCheck: { words: 'audit check' },
  auditTrace: { words: 'audit trace', text: auditTraceText },
  auditReplay: { words: 'audit replay', text: auditReplayText },
  getReceipts: { words: 'audit receipt', text: receiptsText },
};

/** Returns the row of an operation, which is empty where everything is derived. */
export const verbOf = (id: string): Verb =>
  (VERBS as Readonly<Record<string, Verb | undefined>>)[id] ?? {};

/** Names on the command line, where the name of the field without `_id` does not read well. */
const NAMES: Readonly<Record<string, string>> = {
  approvals_required: 'approvals',
  as_of: 'at',
  channels: 'channel',
  content_sha256: 'sha256',
  environment: 'test',
  expires_in_days: 'days',
  last: 'limit',
  outbound_id: 'request',
  up_to: 'at',
};

const SHORT_FLAGS: Readonly<Record<string, string>> = {
  limit: '-n, ',
  owner: '-o, ',
  reason: '-r, ',
};

/** Choices that are longer in the usage are only in the description. */
const CHOICES_CHARS_MAX = 24;

export type CommandField = {
  name: string;
  /** Name on the command line: `<agent>` for an argument, otherwise `--agent`. */
  word: string;
  isArgument: boolean;
  isRequired: boolean;
  /** Schema of the value, without its optional and default wrappers. */
  schema: z.ZodType;
  /** The flag with its short form and its value. */
  flags: string;
  description: string;
  /** Accepted values and the default, after the description. They are not names of fields. */
  values: string;
  /** Value that the flag sends, if it is a switch. */
  value: unknown;
  form: FieldForm;
};

/** Whether a value can be written only as JSON. */
export const isJson = (schema: z.ZodType): boolean =>
  (schema instanceof z.ZodArray ? schema.element : schema) instanceof z.ZodObject;

const choicesOf = (schema: z.ZodType): string[] => {
  const item = schema instanceof z.ZodArray ? schema.element : schema;
  return item instanceof z.ZodEnum ? item.options.map(String) : [];
};

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** The value of a flag in the usage. A flag alone means true. */
const valueIn = (schema: z.ZodType, placeholder: string, value: unknown): string => {
  if (value !== undefined) return '';
  return schema instanceof z.ZodBoolean ? ' [true|false]' : ` <${placeholder}>`;
};

const placeholderOf = (name: string, schema: z.ZodType): string => {
  const choices = choicesOf(schema);
  if (isJson(schema)) return 'json';
  if (schema instanceof z.ZodNumber) return 'n';
  if (schema instanceof z.ZodArray) return 'list';
  const inUsage = choices.join('|');
  if (inUsage !== '') return inUsage.length <= CHOICES_CHARS_MAX ? inUsage : 'word';
  return name.endsWith('_id') ? 'id' : 'text';
};

/** The schema without its optional and default wrappers, its default and its description. */
const unwrap = (wrapped: z.ZodType) => {
  let schema = wrapped;
  let { description } = schema;
  let fallback: unknown;
  while (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) {
    if (schema instanceof z.ZodDefault) fallback = schema.def.defaultValue;
    schema = schema.unwrap() as z.ZodType;
    description ??= schema.description;
  }
  return { schema, description, fallback };
};

const fieldOf = (name: string, wrapped: z.ZodType, { id, http }: DeskOperation): CommandField => {
  const { args, fields } = verbOf(id);
  const form = (fields as Readonly<Record<string, FieldForm>> | undefined)?.[name] ?? {};
  const { schema, ...derived } = unwrap(wrapped);
  const isArgument =
    args?.includes(name) ?? (name !== 'owner_id' && http.path.includes(`{${name}}`));
  const plain = name.replace(/_id$/, '');
  const word = NAMES[name] ?? plain.replaceAll('_', '-');
  const { placeholder = placeholderOf(name, schema), fallback = derived.fallback } = form;
  const { value } = form;
  const isRequired = schema === wrapped && !form.isOptional && form.fallback === undefined;
  const sentence = plain.replaceAll('_', ' ').replace(/^./, (letter) => letter.toUpperCase());
  const about = form.about ?? derived.description ?? (isArgument ? '' : sentence);
  const choices = placeholder === 'list' || placeholder === 'word' ? choicesOf(schema) : [];
  return {
    name,
    schema,
    value,
    form,
    isArgument,
    word: isArgument ? (isRequired ? `<${word}>` : `[${word}]`) : `--${word}`,
    isRequired,
    flags: `${SHORT_FLAGS[word] ?? ''}--${word}${valueIn(schema, placeholder, value)}`,
    description: about,
    values:
      (choices.length > 0 ? `: ${choices.join(', ')}` : '') +
      (fallback === undefined || value !== undefined || isEmptyList(fallback)
        ? ''
        : ` (default: ${JSON.stringify(fallback)})`),
  };
};

/** Lists the fields of an operation's input in the order of its schema, without the idempotency key. */
export const commandFieldsOf = (operation: DeskOperation): CommandField[] => {
  const { readsAllPages } = verbOf(operation.id);
  const omitted = ['idempotency_key', ...(readsAllPages ? ['limit', 'before'] : [])];
  return Object.entries(operation.input.shape as Record<string, z.ZodType>)
    .filter(([name]) => !omitted.includes(name))
    .map(([name, schema]) => fieldOf(name, schema, operation));
};

/**
 * Names the field that a JSON Pointer into an input names, as it is on the command line: `<agent>`,
 * `--scopes, no. 2`. Returns the pointer where no flag carries the field.
 */
export const formatPointer = (pointer: string, id?: DeskOperationId): string => {
  const [, name = '', ...inside] = pointer.split('/');
  if (name === 'idempotency_key') return '--idempotency-key';
  const field = id && commandFieldsOf(deskOperations[id]).find((one) => one.name === name);
  if (!field || (!field.form.parse && isJson(field.schema))) return pointer || '/';
  const places = inside.map((part) => (/^\d+$/.test(part) ? `no. ${Number(part) + 1}` : part));
  return [field.word, ...places].join(', ');
};

/** How a field of the input is written on the command line. */
type FieldForm = {
  /** What the value looks like, in the usage; default: by the type of the field. */
  placeholder?: string;
  /** Description, where that of the schema does not fit a command line. */
  about?: string;
  /** Whether the flag may be left out although the schema requires the field. */
  isOptional?: boolean;
  /** Value that is sent when the flag is not given, in place of the schema's default. */
  fallback?: string;
  /** Makes the flag a switch that sends this value. */
  value?: string;
  /** Parses the text; `previous` is the value of the same flag before, when it is repeated. */
  parse?(text: string, previous?: unknown): unknown;
};

/** Options of a command, with the flags that only `complete` and `follow` read. */
export type VerbOptions = CommonOptions & {
  rotateSecret?: boolean;
  follow?: boolean;
  /** Opens a page in place of the answer. */
  web?: boolean;
  /** Answers the question of a command that ends something for good. */
  yes?: boolean;
};

/** A row of the table of verbs; every member is optional, because all of it can be derived. */
type Verb<Request = object, Answer = object> = {
  /** Words of the command, where those derived from the operation's id do not read well. */
  words?: string;
  /** Fields given as arguments, in order; default: those in the path of the operation except the owner. */
  args?: readonly string[];
  fields?: { readonly [Field in keyof Request]?: FieldForm };
  /** Further flags and their descriptions, for `complete`. */
  flags?: Readonly<Record<string, string>>;
  /** Text below the flags; default: the guidance of the operation. */
  help?: string;
  /** Whether the command reads a list to its last page; otherwise it has --limit and --before. */
  readsAllPages?: boolean;
  /** Completes the input from the desk or from the terminal before it is sent. */
  complete?(
    desk: Desk,
    input: Partial<Request>,
    options: VerbOptions,
  ): Partial<Request> | Promise<Partial<Request>>;
  /** Notice on stderr before a result that scripts read from stdout. */
  notice?(answer: Answer): string;
  /** Shows progress until the answer arrives, and returns the answer. */
  awaitAnswer?(desk: Desk, request: Partial<Request>, answer: Promise<Answer>): Promise<Answer>;
  /** Whether --json prints each row of the list as a line of its own. */
  hasJsonRows?: boolean;
  /** With --follow: prints what comes after the answer, until the command is interrupted. */
  follow?(
    desk: Desk,
    request: Partial<Request>,
    about: { answer: Answer; options: VerbOptions },
  ): Promise<void>;
  /** Members of a list's rows that are shown, separated by spaces; default: those with plain values. */
  columns?: string;
  /** Text of the answer; default: its members by name, or a table. */
  text?(answer: Answer, options: VerbOptions): string;
};

type Verbs = {
  readonly [Id in DeskOperationId]?: Verb<DeskRequest<Id>, DeskAnswer<Id>>;
};

export type Registry = Readonly<Record<string, DeskOperation>>;

/** Returns the words of an operation's command: `pauseLink` is `link pause`, `listLinks` is `link list`. */
export const commandWordsOf = ({ id }: DeskOperation): string => {
  const [verb = '', ...nouns] = id.replaceAll(/[A-Z]/g, ' $&').toLowerCase().split(' ');
  return verbOf(id).words ?? `${nouns.join('-').replace(/(?<=[^s])s$/, '')} ${verb}`.trim();
};

/** Makes a function that rewrites texts of the contract: flags for fields, commands for operations. */
export const localizer =
  (fields: readonly CommandField[], registry: Registry) =>
  (text: string): string =>
    text
      .replaceAll(/\b([a-z_]+)=(?=[\w<])/g, (whole, name: string) => {
        const field = fields.find((one) => one.name === name);
        return field ? `${field.word} ` : whole;
      })
      .replaceAll(/\b[a-z]+(?:_[a-z0-9]+)+\b|\b[a-z]+[A-Z]\w+\b/g, (name) => {
        const named = registry[name];
        const field = fields.find((one) => one.name === name);
        return field?.word ?? (named ? `"${commandWordsOf(named)}"` : name);
      });

/** The groups of commands by their first word, in the order of `tributary --help`. */
type Topic = { section: string; about?: string; alias?: string };

const SERVICE = 'Service:';
const ACCESS = 'Agents and people:';
const RECORDS = 'Catalog and records:';
const OUTREACH = 'Outreach:';
const LOG = 'Log and read models:';

export const TOPICS: Readonly<Record<string, Topic>> = {
  serve: { section: SERVICE },
  status: { section: SERVICE },
  'demo-reset': { section: SERVICE },
  clock: { section: SERVICE, about: 'Decide whether the clock or the log is right' },
  access: { section: ACCESS, about: 'Review which agents may act' },
  key: { section: ACCESS, about: 'Manage the API keys of agents' },
  owner: { section: ACCESS, about: 'Manage who the promoters are, and where notices to them go' },
  people: { section: ACCESS, about: 'Invite the people who sign in, and manage what they may do' },
  session: { section: ACCESS, about: 'See where you are signed in', alias: 'sessions' },
  login: { section: ACCESS },
  logout: { section: ACCESS },
  passkey: { section: ACCESS, about: 'Remove a passkey; they are added at /me in a browser' },
  account: { section: ACCESS, about: 'Unlink your account of an OpenID provider' },
  whoami: { section: ACCESS },
  context: { section: ACCESS, about: 'Choose between your logins', alias: 'contexts' },
  token: { section: ACCESS, about: 'Manage the tokens of programs and people at the desk' },
  catalog: { section: RECORDS, about: 'Publish and withdraw products' },
  lead: { section: RECORDS, about: 'Manage leads' },
  handoff: { section: RECORDS, about: 'Manage handoffs, the lists for buyers' },
  rfq: { section: RECORDS, about: 'Answer the RFQs of buyers and record their outcomes' },
  plan: { section: RECORDS, about: 'Assign leads, RFQs and requests, note, and plan next steps' },
  link: { section: RECORDS, about: 'Manage attributed links' },
  record: { section: RECORDS, about: 'Show a record of a promoter' },
  inbox: { section: RECORDS, about: 'See what waits for staff' },
  erase: { section: RECORDS },
  privacy: { section: RECORDS, about: 'Find, export and erase the data of a person' },
  mail: { section: SERVICE, about: 'Read the mail that is stored in the data directory' },
  approvals: {
    section: OUTREACH,
    about: 'Review and decide the outreach that agents propose',
    alias: 'approval',
  },
  outreach: { section: OUTREACH, about: 'Set approvers and channels of outreach, and halt it' },
  audit: {
    section: LOG,
    about: "Show an owner's history, and its records and numbers at any position",
  },
  events: { section: LOG, about: 'Show events of the log', alias: 'event' },
  projections: { section: LOG, about: 'Manage the read models', alias: 'projection' },
  log: { section: LOG, about: 'Verify, copy and adopt the event log' },
};

/** Returns the topic of a first word or of its alias; a derived command may have a new one. */
export const topicOf = (word: string): [name: string, topic: Topic] =>
  Object.entries(TOPICS).find(([name, { alias }]) => name === word || alias === word) ?? [
    word,
    { section: 'Other:' },
  ];
