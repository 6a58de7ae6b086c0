/** Operations of auditors on owners' histories. */
import { z } from 'zod';
import { EXAMPLE_AS_OF, EXAMPLE_AT, deskQuery } from '#contracts/desk-operation.ts';
import {
  asOf,
  campaign,
  identifier,
  hasYear,
  line,
  time,
  before,
  limit,
  nextBefore,
  pageMark,
  ownerSpace,
  id,
} from '#contracts/fields.ts';
import { getPerformance } from '#contracts/performance/operations.ts';
import {
  RECEIPT_EXAMPLE,
  receipt,
  REQUEST_EXAMPLE,
  requestOfReceipts,
  retryAfter,
} from '#contracts/proof/operations.ts';
import type { DeskRole } from '#contracts/scopes.ts';
import { EVENTS_PAGE_MAX } from '#contracts/limits.ts';

/* Fields that the operations of auditors share. */

/** Events that a page of acts reads at most, so that a filter that matches few answers in time. */
export const ACTS_SCANNED_MAX = 5_000;

const auditRoles: readonly DeskRole[] = ['auditor', 'owner'];

export const AUDITED_KIND_NAMES = ['link', 'handoff', 'lead', 'outreach', 'agent', 'key'] as const;
export type AuditedKind = (typeof AUDITED_KIND_NAMES)[number];

const MOMENT = /^(?:\d{1,16}|\d{4}-\d\d-\d\d(?:T[\d:.]{5,18}(?:Z|[+-]\d\d:\d\d))?)$/;

/** A moment of the history. A time means the highest position before the owner's first event with a later time. */
const moment = z
  .string()
  .max(40)
  .refine((text) => MOMENT.test(text) && (/^\d+$/.test(text) || hasYear(text)), {
    error: 'must be a log position, a time like 2026-11-01T09:30:00Z, or a day like 2026-11-01',
  })
  .describe(
    'A log position, a time like 2026-11-01T09:30:00Z, or a day, which means its start in UTC',
  );

const auditAt = moment.optional().describe('A log position, a time or a day; default: now');

/** The position of an answer, the time of the owner's last event up to it, and the time at which records are shown. */
const auditAsOf = asOf.extend({
  shown_at: time.describe('Records are shown as of this time, because some end by themselves'),
});
const AUDIT_AS_OF = { ...EXAMPLE_AS_OF, shown_at: EXAMPLE_AT };

/** Personal data is opened only for a reason. */
const openingReason = line(500)
  .optional()
  .describe(
    'Why personal data is opened: stored in the log with your token. Without it, personal data is shown as [sealed]. ' +
      'Role auditor only. Do not name a person in it',
  );

const cause = {
  actor: z.string().describe('An agent, desk:<token>, applicant, buyer, system or visitor'),
  actor_name: z.string().optional().describe('Name that the desk token was issued for'),
  agent_id: z.string().optional(),
  request_id: z.string(),
};

const AUDIT_OUTCOMES = ['done', 'allowed', 'denied', 'refused', 'failed', 'replayed'] as const;

const clientInfo = z
  .object({ name: z.string(), version: z.string().optional(), model: z.string().optional() })
  .describe('The assistant that an agent acted with, as its client named itself');

const auditAct = z
  .object({
    position: z.int(),
    at: time,
    ...cause,
    agent_name: z.string().optional(),
    key_id: z.string().optional(),
    client: clientInfo.optional(),
    surface: z.string(),
    operation: z.string(),
    type: z.string().describe('Type of the event that has the act'),
    outcome: z
      .enum(AUDIT_OUTCOMES)
      .describe('done: an event of the business; others: an audit record'),
    code: z.string().optional().describe('Problem code of a refusal'),
    record: z.string().optional(),
    asked: z.string().optional().describe('Input of the call, of reads that must name it'),
    count: z.int().optional().describe('Equal calls in one audit record'),
  })
  .meta({ id: 'AuditAct' });

/* What auditors read: an owner's records and numbers at any position of the log, and their changes. */

const auditedRecord = z
  .object({
    kind: z.enum(AUDITED_KIND_NAMES),
    id: z.string(),
    name: z.string().describe('Title, company, campaign or external id, as its kind has one'),
    status: z.string(),
    agent_id: z.string().optional(),
    agent_name: z.string().optional(),
    record: z.record(z.string(), z.unknown()).describe('The record as its own operations show it'),
  })
  .meta({ id: 'AuditedRecord' });

const performance = getPerformance.output;

const STATE_KINDS = [...AUDITED_KIND_NAMES, 'performance'] as const;

const auditState = deskQuery({
  roles: auditRoles,
  path: '/audit/state',
  auditsInput: true,
  summary: "Show an owner's records and numbers as they were at a position or a time",
  guidance:
    "Folds the owner's events from the log; it does not read the read models. A time means the highest position " +
    "before the owner's first event with a later time. Records are listed newest first; read the next page with " +
    'next_before and the same at. The numbers are the 30 days before, by day; auditPerformance shows others. ' +
    'Personal data is shown as [sealed], or as [erased] after an erasure.',
  fields: {
    owner_id: ownerSpace,
    at: auditAt,
    kind: z
      .array(z.enum(STATE_KINDS))
      .min(1)
      .max(STATE_KINDS.length)
      .optional()
      .describe('Kinds of record; default: all'),
    reason: openingReason,
    before,
    limit,
  },
  output: z.object({
    data: z.array(auditedRecord),
    performance: performance
      .pick({ data: true, totals: true, period: true })
      .optional()
      .describe('On the first page only'),
    next_before: nextBefore,
    as_of: auditAsOf,
  }),
  example: {
    name: 'on a day',
    input: { owner_id: 'acme', at: '2026-11-20', kind: ['link'] },
    output: { data: [], next_before: null, as_of: AUDIT_AS_OF },
  },
});

const { as_of: _position, names: _names, ...performanceFields } = getPerformance.input.shape;

const auditPerformance = deskQuery({
  roles: auditRoles,
  path: '/audit/performance',
  auditsInput: true,
  summary: "Count an owner's performance from the log as it was at a position or a time",
  guidance:
    "Counts the owner's events from the log itself, with the same fields and rules as getPerformance. to is the day " +
    'of the position unless it is sent.',
  problems: [
    'role_missing',
    'parameter_invalid',
    'resource_not_found',
    'cursor_invalid',
    'cursor_expired',
    'read_model_rebuilding',
  ],
  // Each call is audited with its input.
  fields: {
    owner_id: ownerSpace,
    at: auditAt,
    ...performanceFields,
    campaign: campaign.optional(),
    client: identifier(64).optional(),
  },
  output: performance.extend({ as_of: auditAsOf }),
  example: {
    name: 'by campaign',
    input: { owner_id: 'acme', at: '2026-11-20', group_by: ['campaign'] },
    output: {
      ...(getPerformance.examples[0]?.output as object),
      as_of: AUDIT_AS_OF,
    },
  },
});

const change = z
  .object({
    position: z.int(),
    at: time,
    change: z.enum(['made', 'moved', 'amended', 'ended']),
    kind: z.enum(AUDITED_KIND_NAMES),
    id: z.string(),
    name: z.string(),
    from: z.string().nullable().describe('Status before; null for a new record'),
    to: z.string(),
    type: z.string().describe('Type of the event'),
    ...cause,
    agent_name: z.string().optional(),
  })
  .meta({ id: 'AuditChange' });

const numberChange = z
  .object({
    day: z.string().describe('Day in UTC'),
    metric: z.string(),
    from: z.int(),
    to: z.int(),
    currency: z.string().optional().describe('Of an amount in minor units'),
    position: z.int().describe('Last event between the two positions that counts on this day'),
    ...cause,
  })
  .meta({ id: 'AuditNumberChange' });

const moments = {
  owner_id: ownerSpace,
  from: moment.describe('A log position, a time or a day: the earlier state'),
  to: moment.optional().describe('A log position, a time or a day: the later state; default: now'),
};

const auditDiff = deskQuery({
  roles: auditRoles,
  path: '/audit/diff',
  auditsInput: true,
  summary:
    'List what changed between two positions or times: records and numbers, each with who changed it',
  guidance:
    'Changes are in order of position. Read the next page with after = next_after and the same from and to, until ' +
    'it is null; numbers are on the first page. amended means that the record changed and its status did not.',
  fields: {
    ...moments,
    after: pageMark(z.int().min(1)).optional().describe('next_after of the previous page'),
    limit,
  },
  output: z.object({
    changes: z.array(change),
    numbers: z.array(numberChange),
    next_after: z.int().nullable().describe('null on the last page'),
    from: auditAsOf,
    to: auditAsOf,
  }),
  example: {
    name: 'since a day',
    input: { owner_id: 'acme', from: '2026-11-01' },
    output: {
      changes: [],
      numbers: [],
      next_after: null,
      from: AUDIT_AS_OF,
      to: AUDIT_AS_OF,
    },
  },
});

const auditProgress = deskQuery({
  roles: auditRoles,
  path: '/audit/progress',
  summary: "Show how far a running audit has read an owner's history",
  guidance:
    'The state, the performance and the changes of an owner are folded from all its events, which takes seconds for a ' +
    'million. reading is null while no audit of the owner reads events.',
  fields: { owner_id: ownerSpace },
  output: z.object({
    reading: z
      .object({ position: z.int(), up_to: z.int().describe('The last position that it will read') })
      .nullable(),
  }),
  example: {
    name: 'of acme',
    input: { owner_id: 'acme' },
    output: { reading: { position: 1200, up_to: 3120 } },
  },
});

export const auditDeskOperations = { auditDiff, auditPerformance, auditProgress, auditState };

/* What auditors take away: an owner's events as canonical JSON. */

const LINES_MAX = 1_000;

const hash = z.string().describe('SHA-256 in base64');
const hashes = z.array(hash);
const ownerLeaf = z.object({ sequence: z.int(), leaf: z.string() });

/** What a stranger needs to verify that an export has all records of an owner under a checkpoint, unaltered. */
const exportProof = z
  .object({
    checkpoints: z
      .array(z.string())
      .length(2)
      .describe('The first and the newest, as signed notes'),
    consistency: hashes.describe('Shows that the newest tree begins with the first one'),
    keys: z.array(z.string()).describe('Public keys that sign the checkpoints'),
    head: ownerLeaf.describe("The owner's newest leaf"),
    owners: z
      .object({ index: z.int(), count: z.int(), proof: hashes })
      .describe('Leads from that leaf to the root of the tree of owners'),
    last: hashes.describe('Leads from the last leaf, which has that root, to the root of the tree'),
    before: ownerLeaf.describe('The leaf before the first record; 0 and empty if there is none'),
    end: z
      .object({ index: z.int(), proof: hashes })
      .optional()
      .describe('Leads from the last record to the root of the tree, in a range that ends before'),
  })
  .meta({ id: 'ExportProof' });

const auditExport = deskQuery({
  roles: auditRoles,
  path: '/audit/events',
  auditsInput: true,
  summary: "Export an owner's events in canonical JSON (RFC 8785), one a line",
  guidance:
    'Read the next page with after = next_after and the same from and to until it is null. The same range always has ' +
    'the same lines. Personal data is encrypted as in the log; with a reason, opened has its plain text.',
  fields: {
    owner_id: ownerSpace,
    from: moment.optional().describe('A log position, a time or a day: only later events'),
    to: auditAt,
    reason: openingReason,
    since: z
      .int()
      .min(1)
      .optional()
      .describe('Size of a checkpoint that you kept: the proof shows that the newest continues it'),
    after: pageMark(z.int().min(0)).optional().describe('next_after of the previous page'),
    limit: z.int().min(1).max(LINES_MAX).default(LINES_MAX).describe('Lines per page'),
  },
  output: z.object({
    log: z.string().describe('Identity of the log: positions of different logs are not comparable'),
    lines: z.array(z.string()),
    next_after: z.int().nullable(),
    from: auditAsOf,
    to: auditAsOf,
    classifier_version: z.int(),
    people: z
      .record(z.string(), z.string())
      .describe(
        'Names that desk tokens were issued for, by the actor of their events in these lines',
      ),
    skips: z
      .array(z.object({ read_model: z.string(), stream: z.string(), revision: z.int() }))
      .describe('Events of the owner that two people decided to fold a read model without'),
    proof: exportProof
      .optional()
      .describe('Of the first page: proves the records of all pages. Format: /docs/proof'),
  }),
  example: {
    name: 'of acme',
    input: { owner_id: 'acme' },
    output: {
      log: '0f1e2d3c',
      lines: [],
      next_after: null,
      from: { position: 0, at: null, shown_at: EXAMPLE_AT },
      to: AUDIT_AS_OF,
      classifier_version: 1,
      people: { 'desk:LWaBGZ33b8yo': 'Ada Lovelace' },
      skips: [],
    },
  },
});

const auditCheck = deskQuery({
  roles: auditRoles,
  path: '/audit/check',
  auditsInput: true,
  summary: 'Compare the live rows of an owner, or of all, byte for byte with a fold of the log',
  guidance:
    'Starts the comparison, or shows the progress of the running one, until done is true. Live rows and their ' +
    'position are read together, so that it holds while the service writes. difference is the first row that differs, ' +
    'with the last event that changed it. sample folds every nth partition of a read model only. Only auditors ' +
    'check all owners.',
  fields: {
    owner_id: ownerSpace.optional().describe('Default: all owners'),
    sample: z.int().min(1).max(64).optional().describe('Check one of so many partitions'),
    run: line(64).describe('Your name for this run; repeat it to see its progress'),
  },
  output: z.object({
    done: z.boolean(),
    position: z.int(),
    head: z.int(),
    rows: z.int(),
    difference: z
      .object({
        read_model: z.string(),
        scope: z.string(),
        key: z.string(),
        position: z.int().describe('Position of the comparison'),
        live: z.string().nullable().describe('The row as JSON; null if there is none'),
        log: z.string().nullable(),
        fields: z
          .array(z.string())
          .describe('The members that differ; lists if the row is in other lists'),
        last_event: z
          .object({ position: z.int(), type: z.string(), stream: z.string() })
          .optional(),
      })
      .optional(),
    failure: z.string().optional(),
  }),
  example: {
    name: 'of acme',
    input: { owner_id: 'acme', run: 'nightly' },
    output: { done: true, position: 3120, head: 3120, rows: 204 },
  },
});

export const auditFilesDeskOperations = { auditCheck, auditExport };

/* What happened: the acts and refusals of an owner, and the chain of one of them. */

const auditHistory = deskQuery({
  roles: auditRoles,
  path: '/audit/history',
  auditsInput: true,
  summary:
    "List the acts and refusals in an owner's history, newest first: who, how, what, outcome and request",
  guidance:
    'An event of the business is one act; an audit record has one act for each kind of call. Reads and refusals of ' +
    'people at the desk belong to no owner: they are in the history of the owner desk, which only auditors read. ' +
    `A page reads at most ${ACTS_SCANNED_MAX} events, so with filters it can have few acts or none: read on with ` +
    'next_before until it is null. A page ends after a whole event.',
  fields: {
    owner_id: ownerSpace,
    from: moment.optional().describe('A log position, a time or a day: only later acts'),
    to: moment.optional().describe('A log position, a time or a day: no later acts'),
    agent_id: id('agt').optional(),
    actor: line(100)
      .regex(/^(?:agt_|desk:|(?:applicant|buyer|system|visitor)$)/, {
        error: 'must be the id of an agent, desk:<token>, applicant, buyer, system or visitor',
      })
      .optional()
      .describe('An agent, desk:<token>, applicant, buyer, system or visitor'),
    kind: line(64).optional().describe('Type of event or operation'),
    outcome: z.enum(AUDIT_OUTCOMES).optional(),
    record: line(100).optional().describe('Id of a record'),
    key_id: line(100).optional().describe('Id of an API key'),
    request_id: line(100).optional().describe('Request-Id of an answer'),
    before,
    limit,
  },
  output: z.object({ data: z.array(auditAct), next_before: nextBefore, as_of: asOf }),
  example: {
    name: 'refusals',
    input: { owner_id: 'acme', outcome: 'denied' },
    output: { data: [], next_before: null, as_of: EXAMPLE_AS_OF },
  },
});

const touched = z.object({
  read_model: z.string(),
  scope: z.string(),
  key: z.string(),
  change: z
    .enum(['made', 'changed', 'removed', 'added_to', 'unchanged'])
    .describe('added_to: a row that many records share, such as a list of facts'),
  members: z.array(z.string()).optional().describe('Members of the row that changed'),
});

const traced = z
  .object({
    relation: z
      .enum(['cause', 'subject', 'effect'])
      .describe('cause: it led to the subject; effect: it followed from it'),
    position: z.int(),
    at: time,
    type: z.string(),
    stream: z.string(),
    record: z.string().optional(),
    ...cause,
    key_id: z.string().optional(),
    client: clientInfo.optional(),
    surface: z.string(),
    operation: z.string(),
    data: z
      .record(z.string(), z.unknown())
      .describe('Data of the event; personal data is encrypted'),
    rows: z.array(touched),
  })
  .meta({ id: 'AuditTraced' });

const receipts = z.array(receipt).meta({ id: 'Receipts' });

const getReceipts = deskQuery({
  roles: auditRoles,
  path: '/audit/receipts/{request_id}',
  auditsInput: true,
  summary: 'Prove what a request wrote: a file for each event, for strangers',
  guidance:
    'request_id is the Request-Id of an answer. A receipt is pending until a checkpoint covers its event: ask again ' +
    'after retry_after_ms. Format: /docs/proof.',
  fields: {
    request_id: requestOfReceipts,
    owner_id: ownerSpace
      .optional()
      .describe('Owner of the request, if known: the search is shorter'),
  },
  output: z.object({
    request_id: z.string(),
    receipts,
    retry_after_ms: retryAfter,
  }),
  example: {
    name: 'of a request',
    input: { request_id: REQUEST_EXAMPLE },
    output: {
      request_id: REQUEST_EXAMPLE,
      receipts: [RECEIPT_EXAMPLE],
      retry_after_ms: 1_500,
    },
  },
});

const auditTrace = deskQuery({
  roles: auditRoles,
  path: '/audit/trace/{id}',
  auditsInput: true,
  summary:
    'Show the chain of a record or a request: what led to it, what it wrote and what followed',
  guidance:
    'id is the id of a link, handoff, lead or outreach request, or the Request-Id of an answer. rows names the rows ' +
    'of read models that each event changed. answer is what a retry with the same idempotency key is answered, ' +
    'without personal data and review link.',
  fields: {
    id: line(100).describe('Id of a record or of a request'),
    owner_id: ownerSpace
      .optional()
      .describe('Owner of the record, if known: the search is shorter'),
  },
  output: z.object({
    id: z.string(),
    owner_id: z.string(),
    events: z.array(traced),
    audited: z.array(auditAct).describe('Audit records of the request'),
    answer: z
      .object({ operation: z.string(), value: z.record(z.string(), z.unknown()) })
      .optional(),
    receipts: receipts
      .optional()
      .describe('Of a request: proves what it wrote; getReceipts has those that are pending here'),
    more: z.boolean().describe('Whether there are more events than are shown'),
  }),
  example: {
    name: 'of a lead',
    input: { id: 'led_3c4d5e6f7g8h9j0k1m2n3p4q', owner_id: 'acme' },
    output: {
      id: 'led_3c4d5e6f7g8h9j0k1m2n3p4q',
      owner_id: 'acme',
      events: [],
      audited: [],
      more: false,
    },
  },
});

const auditReplay = deskQuery({
  roles: auditRoles,
  path: '/audit/replays/{request_id}',
  auditsInput: true,
  summary: 'Answer a read of performance or leads again, as of then, and compare the hashes',
  guidance:
    'request_id is the Request-Id of an answer. Owners choose whether answers are recorded: setOwnerProfile, ' +
    'record_answers. equal shows the answer that the agent got. not_equal says that it cannot be made again, and not why: ' +
    'names of products and agents, and what was erased, are as of now. sha256 is that of the body that REST sends; a tool shows ' +
    'less of a large one. Files and skills are not recorded.',
  fields: {
    request_id: requestOfReceipts,
    owner_id: ownerSpace
      .optional()
      .describe('Owner of the request, if known: the search is shorter'),
    reason: openingReason,
  },
  output: z.object({
    request_id: z.string(),
    owner_id: z.string(),
    operation: z.string(),
    agent_id: z.string(),
    at: time,
    result: z.enum(['equal', 'not_equal', 'not_recorded']),
    why: z.string().optional().describe('Of not_equal and not_recorded'),
    recorded: z.object({ sha256: z.string(), position: z.int(), version: z.string() }).optional(),
    replayed: z
      .object({ sha256: z.string(), position: z.int(), version: z.string() })
      .optional()
      .describe('Its position is later than the recorded one if the answer had more than it says'),
    answer: z.record(z.string(), z.unknown()).optional().describe('Of equal'),
  }),
  example: {
    name: 'of a request',
    input: { request_id: REQUEST_EXAMPLE },
    output: {
      request_id: REQUEST_EXAMPLE,
      owner_id: 'acme',
      operation: 'getPerformance',
      agent_id: 'agt_4d5e6f7g8h9j0k1m2n3p4q5r',
      at: EXAMPLE_AT,
      result: 'not_recorded',
      why: 'The owner did not have answers recorded then.',
    },
  },
});

export const auditHistoryDeskOperations = { auditHistory, auditReplay, auditTrace, getReceipts };

/* The events behind the history. */

const listHistory = deskQuery({
  roles: ['owner', 'staff', 'auditor'],
  path: '/history',
  summary:
    "List an owner's events, newest first: type, time and stream; readEvents shows their data",
  guidance:
    'as_of=<position> answers with the log as it was at that position. Read the next page with next_before until ' +
    'it is null.',
  fields: {
    owner_id: ownerSpace,
    as_of: z.int().min(0).optional().describe('A log position'),
    before,
    limit,
  },
  output: z.object({
    data: z.array(
      z.object({
        position: z.int(),
        at: z.string(),
        type: z.string(),
        stream: z.string(),
        revision: z.int(),
      }),
    ),
    next_before: nextBefore,
    as_of: asOf,
  }),
  example: {
    name: 'of acme',
    input: { owner_id: 'acme', limit: 1 },
    output: {
      data: [
        {
          position: 3120,
          at: EXAMPLE_AT,
          type: 'LinkCreated',
          stream: 'acme-link_1a2b3c4d5e6f7g8h9j0k1m2n',
          revision: 0,
        },
      ],
      next_before: 3120,
      as_of: EXAMPLE_AS_OF,
    },
  },
});

const event = z
  .object({
    position: z.int(),
    stream: z.string(),
    revision: z.int(),
    id: z.string(),
    type: z.string(),
    at: z.string(),
    data: z.record(z.string(), z.unknown()),
    meta: z.record(z.string(), z.unknown()),
    after_revocation: z
      .literal(true)
      .optional()
      .describe(
        'The event was written with an API key or a desk token after its revocation: a log on a server accepts such a ' +
          'write for up to a second',
      ),
  })
  .meta({ id: 'Event' });

const readEvents = deskQuery({
  roles: ['owner', 'staff', 'auditor', 'operator'],
  path: '/events',
  summary: "Read the events of a stream, of an owner's history, or of the whole log",
  guidance:
    'Name stream or owner_id, or neither. An owner can read only its own events. Events are in order of position; ' +
    'after is exclusive, up_to is inclusive.',
  fields: {
    stream: line(300).optional(),
    owner_id: ownerSpace.optional(),
    after: pageMark(z.int().min(0)).default(0),
    up_to: z.int().min(0).optional(),
    limit: z.int().min(1).max(EVENTS_PAGE_MAX).default(100),
    last: z
      .int()
      .min(1)
      .max(EVENTS_PAGE_MAX)
      .optional()
      .describe('Answer only this number of the newest matching events'),
  },
  output: z.object({ data: z.array(event), head: z.int(), more: z.boolean() }),
  example: {
    name: 'an owner',
    input: { owner_id: 'acme' },
    output: { data: [], head: 0, more: false },
  },
});

export const historyDeskOperations = { listHistory, readEvents };
