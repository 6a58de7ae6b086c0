/** States of a promoter's records in words, and the names of its agents. */
import { beginningOf } from '#contracts/texts.ts';
import type { AgentRecord } from '#contracts/access/records.ts';
import type { Outbound, OutboundKind } from '#contracts/outreach/records.ts';
import type { Handoff } from '#contracts/handoffs/records.ts';
import { html } from 'hono/html';
import { streamOf } from '#src/writing/streams.ts';
import type { Html } from '#src/web/layout.ts';
import { eventWords, happened } from '#src/web/parts.ts';
import type { Answer, Read } from './owner-frame.pages.ts';
import type { LEAD_STATES, RfqStateName } from '#contracts/moves.ts';

export const RFQ_WORDS: Readonly<Record<RfqStateName, string>> = {
  unconfirmed: 'waits for the buyer to confirm it',
  confirmed: 'waits for staff',
  in_progress: 'is with staff',
  quoted: 'is quoted, and waits for the buyer',
  agreed: 'is agreed, and waits for staff',
  declined: 'was declined by the buyer, and is with staff',
  expired: 'has a quotation that expired',
  won: 'is won',
  lost: 'is lost',
  withdrawn: 'was withdrawn',
};

export const LIST_WORDS: Readonly<Record<Handoff['status'], string>> = {
  awaiting_buyer: 'not opened by the buyer',
  in_review: 'opened by the buyer',
  rfq_submitted: 'RFQ sent',
  declined: 'declined by the buyer',
  withdrawn: 'withdrawn',
  invalidated: 'invalidated by staff',
  expired: 'expired',
};

export const LEAD_WORDS: Readonly<Record<(typeof LEAD_STATES)[number], string>> = {
  submitted: 'waits for staff',
  accepted: 'accepted',
  rejected: 'rejected',
  duplicate: 'rejected: known before',
  contacted: 'contacted',
  qualified: 'qualified',
  unqualified: 'not qualified',
  rfq_submitted: 'sent an RFQ',
  won: 'won',
  lost: 'lost',
  withdrawn: 'withdrawn',
  lapsed: 'lapsed',
};

export const KIND_NAMES: Readonly<Record<OutboundKind, string>> = {
  social_post: 'Social post',
  message: 'Message',
  agent_notification: 'Notification to an agent',
  handoff_delivery: 'Delivery of a list to a buyer',
};

export const OUTREACH_WORDS: Readonly<Record<Outbound['status'], string>> = {
  pending_approval: 'waits for approval',
  changes_requested: 'waits for changes by the agent',
  approved: 'approved, and will be sent',
  dispatched: 'being sent',
  confirmed: 'sent, and confirmed by the receiver',
  failed: 'not sent: it failed',
  outcome_unknown: 'perhaps sent: the outcome is unknown',
  rejected: 'refused',
  expired: 'expired',
  canceled: 'canceled',
};

const BEGINNING_CHARS = 80;

/** The subject of outreach, or the beginning of its text. */
export const beginning = ({ subject, text }: Outbound['content']): string => {
  if (subject !== undefined) return subject;
  return text.length > BEGINNING_CHARS ? `${beginningOf(text, BEGINNING_CHARS).trimEnd()}…` : text;
};

/** The words of a state that stand alone. */
export const stateWords = (words: string): string => words.replace(/^(?:is|was|has) /, '');

/** Names agents by their id. */
export const agentNames = (agents: readonly AgentRecord[]): ((id: string) => string) => {
  const names = new Map(agents.map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? 'another agent';
};

const KIND_OF_STREAM = { lnk: 'link', hnd: 'handoff', led: 'lead' } as const;
const EVENTS_MAX = 100;

/** Reads the events of a record, oldest first. */
export const readHistory = (read: Read, owner: string, id: string) =>
  read('readEvents', {
    stream: streamOf(owner, KIND_OF_STREAM[id.slice(0, 3) as keyof typeof KIND_OF_STREAM], id),
    last: EVENTS_MAX,
  });

const WHO: Readonly<Record<string, string>> = {
  buyer: 'the buyer',
  applicant: 'the applicant',
  visitor: 'a visitor',
  system: 'the service',
};

/** Who did something, by name where it is an agent. */
const actorText = (actor: unknown, nameOf: (id: string) => string): string => {
  if (typeof actor !== 'string') return 'the service';
  if (actor.startsWith('agt_')) return nameOf(actor);
  return actor.startsWith('desk:') ? 'a person' : (WHO[actor] ?? 'the service');
};

/** What happened to a record. */
export const historySection = (
  { data }: Answer<'readEvents'>,
  nameOf: (id: string) => string,
): Html =>
  html`<section><h2>History</h2>${happened(
    data.map(({ type, at, meta }) => ({
      at,
      what: eventWords(type),
      who: actorText(meta['actor'], nameOf),
    })),
  )}</section>`;
