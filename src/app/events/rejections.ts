import type { ProblemCode } from '#contracts/problems.ts';
import type { AgentRejection, KeyRejection } from '#src/domain/access.ts';
import type { DeskTokenRejection } from '#src/domain/desk-token.ts';
import type { HandoffRejection } from '#src/domain/handoff.ts';
import type { LeadRejection } from '#src/domain/lead.ts';
import type { LinkRejection } from '#src/domain/link.ts';
import type { OutboundRejection } from '#src/domain/outbound.ts';
import type { OutreachRejection } from '#src/domain/outreach.ts';
import type { ProfileRejection } from '#src/domain/owners/profile.ts';
import type { PlanRejection } from '#src/domain/staff/plan.ts';
import type { ProductRejection } from '#src/domain/product.ts';
import { type Refusal, refuse } from '../pipeline/outcome.ts';
import type { RejectedBy } from './decide-and-append.ts';

/** The problem of each rejection of one decider; a missing rejection does not compile. */
export type ProblemByRejection<Reason extends string> = Readonly<Record<Reason, ProblemCode>>;

export const AGENT_PROBLEMS: ProblemByRejection<AgentRejection> = {
  agent_unknown: 'resource_not_found',
  scopes_not_requested: 'validation_failed',
  agent_not_in_state: 'state_conflict',
  suspended_by_staff: 'role_missing',
};

export const KEY_PROBLEMS: ProblemByRejection<KeyRejection> = {
  key_exists: 'state_conflict',
  key_unknown: 'resource_not_found',
  key_not_active: 'state_conflict',
};

export const DESK_TOKEN_PROBLEMS: ProblemByRejection<DeskTokenRejection> = {
  token_exists: 'state_conflict',
  token_unknown: 'resource_not_found',
};

export const LINK_PROBLEMS: ProblemByRejection<LinkRejection> = {
  link_exists: 'state_conflict',
  link_unknown: 'resource_not_found',
};

export const HANDOFF_PROBLEMS: ProblemByRejection<HandoffRejection> = {
  handoff_exists: 'state_conflict',
  handoff_unknown: 'resource_not_found',
  handoff_closed: 'state_conflict',
  handoff_expired: 'state_conflict',
  list_changed: 'state_conflict',
  too_many_revisions: 'state_conflict',
  totals_changed: 'state_conflict',
  link_replaced: 'state_conflict',
  confirmation_over: 'state_conflict',
  rfq_unsent: 'state_conflict',
  rfq_move_not_allowed: 'state_conflict',
  values_required: 'validation_failed',
  quote_over: 'validation_failed',
  proposal_unknown: 'state_conflict',
};

export const LEAD_PROBLEMS: ProblemByRejection<LeadRejection> = {
  lead_exists: 'state_conflict',
  lead_unknown: 'resource_not_found',
  lead_closed: 'state_conflict',
  source_fixed: 'validation_failed',
  move_not_allowed: 'state_conflict',
  proposal_unknown: 'state_conflict',
};

export const PRODUCT_PROBLEMS: ProblemByRejection<ProductRejection> = {
  product_unknown: 'resource_not_found',
};

export const OUTBOUND_PROBLEMS: ProblemByRejection<OutboundRejection> = {
  outbound_exists: 'state_conflict',
  outbound_unknown: 'resource_not_found',
  outbound_closed: 'state_conflict',
  not_revisable: 'state_conflict',
  not_approved: 'state_conflict',
  not_due: 'state_conflict',
  content_changed: 'state_conflict',
  expired: 'state_conflict',
  wrong_role: 'state_conflict',
  already_decided: 'state_conflict',
  not_dispatched: 'state_conflict',
  other_kind: 'state_conflict',
};

export const OUTREACH_PROBLEMS: ProblemByRejection<OutreachRejection> = {
  never_configured: 'state_conflict',
};

export const PLAN_PROBLEMS: ProblemByRejection<PlanRejection> = {
  no_plan: 'state_conflict',
  too_many_notes: 'state_conflict',
};

export const PROFILE_PROBLEMS: ProblemByRejection<ProfileRejection> = {
  profile_unknown: 'resource_not_found',
};

/** Starts the detail of a rejection with a capital letter and ends it with a full stop. */
export const sentence = (detail: string): string =>
  `${detail.charAt(0).toUpperCase()}${detail.slice(1)}.`;

/** Makes the refusal of a rejected command; `notFound` is the refusal for a record that does not exist. */
export const refuseRejected = <Reason extends string>(
  problems: ProblemByRejection<Reason>,
  { rejected, detail }: RejectedBy<Reason>,
  notFound: Refusal,
): Refusal => {
  const code = problems[rejected];
  return code === 'resource_not_found' ? notFound : refuse(code, sentence(detail));
};
