/** Rows for the operations of the desk whose command needs more than their definition says. */
import { InvalidArgumentError } from 'commander';
import { OUTBOUND_KINDS } from '#contracts/outreach/outbound.records.ts';
import { moneyIn } from '#src/shared/cells.ts';
import type { DeskAnswer, DeskRequest } from '#src/cli/desk/desk-transport.ts';
import {
  auditDiffText,
  auditHistoryText,
  auditPerformanceText,
  auditStateText,
  auditTraceText,
} from '../texts/audit-text.ts';
import { followActs, requireFollowable } from './follow-acts.ts';
import { PRIVACY_VERBS } from './privacy-verbs.ts';
import { showReading } from './reading-progress.ts';
import { approvalText, requestsText, requestText } from '../texts/approval-text.ts';
import { leadText, planText, projectionsText, rfqText, stateText } from '../texts/record-text.ts';
import { completeHash, confirmContent, parseHash } from './approved-content.ts';
import type { Verb, Verbs } from './verb.ts';

const parseMoney = (text: string): { amount: number; currency: string } => {
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

type Channel = DeskRequest<'configureOutreach'>['channels'][number];

/**
 * Parses `message=webhook:https://…` and adds it to the channels before. An exclamation mark after webhook
 * says that the receiver accepts each webhook-id once.
 */
const parseChannel = (text: string, before: unknown = []): Channel[] => {
  const [, name = '', adapter = '', idempotent, url] =
    /^(\w+)=(file|a2a|webhook)(!)?(?::(.+))?$/.exec(text) ?? [];
  const kind = OUTBOUND_KINDS.find((one) => one === name);
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
  listKeys: { readsAllPages: true, columns: 'id status agent_id prefix last4 expires_at' },
  issueDeskToken: {
    words: 'token issue',
    notice: ({ id, name, roles }) =>
      `Token ${id} for ${name}: ${roles.join(', ')}. It is shown only once:`,
    text: ({ token }) => token,
  },
  revokeDeskToken: { words: 'token revoke' },
  importProducts: { words: 'catalog import' },
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
  moveRfq: { fields: { values: MONEY_LIST }, text: rfqText },
  correctRfq: { fields: { values: MONEY_LIST }, text: rfqText },
  approveRfqMove: { words: 'rfq approve', text: rfqText },
  refuseRfqMove: { words: 'rfq refuse', text: rfqText },
  listOpenLeads: {
    words: 'lead list',
    columns: 'id owner_id state agent_id company.name claim_expires_at needs_approval',
  },
  listRfqs: {
    columns: 'handoff_id owner_id agent_id state submitted_at indicative_totals needs_approval',
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
  withdrawHandoff: { text: stateText },
  invalidateHandoff: { text: stateText },
  readRfq: { words: 'rfq show' },
  listHandoffs: { columns: 'id status agent_id lines expires_at title' },
  disableLink: { text: stateText },
  listLinks: { columns: 'id status agent_id campaign target short_url' },
  eraseSubject: {
    words: 'erase',
    fields: { reason: { fallback: 'Erasure was asked for.' } },
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
  getOutreach: { words: 'outreach show' },
  haltOutreach: { text: haltText },
  resumeOutreach: { text: haltText },
  setOwnerProfile: {
    words: 'owner set',
    fields: { fallback: { placeholder: 'kind:ref', parse: parseTarget } },
  },
  readOwnerProfile: { words: 'owner show' },
  confirmOwnerMailbox: { words: 'owner confirm' },
  removeOwnerProfile: { words: 'owner remove' },
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
  cancelOutbound: { words: 'approvals cancel', text: requestText },
  observeOutbound: { words: 'approvals observe', text: requestText },
  listHistory: { words: 'events history' },
  readEvents: { words: 'events show' },
  listProjections: { words: 'projections status', text: projectionsText },
  rebuildProjection: { words: 'projections rebuild' },
  verifyProjection: { words: 'projections verify' },
  auditState: { ...OF_FOLD, words: 'audit state', hasJsonRows: true, text: auditStateText },
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
};

/** Returns the row of an operation, which is empty where everything is derived. */
export const verbOf = (id: string): Verb =>
  (VERBS as Readonly<Record<string, Verb | undefined>>)[id] ?? {};
