/** Turns rejections of deciders into refusals. */
import type { ProblemCode } from '#contracts/problems.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';
import type { RejectedBy } from './decide-and-append.ts';

/** The problems of rejections by their names. */
export type ProblemByRejection<Reason extends string> = { readonly [R in Reason]?: ProblemCode };

/** What deciders reject for reasons other than the record's state. */
const PROBLEMS: ProblemByRejection<string> = {
  agent_unknown: 'resource_not_found',
  key_unknown: 'resource_not_found',
  token_unknown: 'resource_not_found',
  link_unknown: 'resource_not_found',
  handoff_unknown: 'resource_not_found',
  lead_unknown: 'resource_not_found',
  product_unknown: 'resource_not_found',
  outbound_unknown: 'resource_not_found',
  profile_unknown: 'resource_not_found',
  person_unknown: 'resource_not_found',
  scopes_not_requested: 'validation_failed',
  values_required: 'validation_failed',
  quote_over: 'validation_failed',
  source_fixed: 'validation_failed',
  suspended_by_staff: 'role_missing',
};

/** Starts the detail of a rejection with a capital letter and ends it with a full stop. */
export const sentence = (detail: string): string =>
  `${detail.charAt(0).toUpperCase()}${detail.slice(1)}.`;

/**
 * Makes the refusal of a rejected command. `notFound` is the refusal for a record that does not exist; `problems` are
 * those that the operation has of its own.
 */
export const refuseRejected = <Reason extends string>(
  { rejected, detail }: RejectedBy<Reason>,
  notFound: Refusal,
  problems: ProblemByRejection<Reason> = {},
): Refusal => {
  const code = problems[rejected] ?? PROBLEMS[rejected] ?? 'state_conflict';
  return code === 'resource_not_found' ? notFound : refuse(code, sentence(detail));
};
