import type { ProblemCode } from '#contracts/problems.ts';
import { EXIT, Failure } from './exit.ts';
import { typed } from '../desk/typed.ts';

/** As much of a problem as the command line tells. */
export type Refused = {
  code?: string;
  title: string;
  detail: string;
  recovery?: { hint: string };
  errors?: { pointer: string; detail: string }[];
  outcome?: unknown;
};

const IN_A_MOMENT = 'Run the command again in a moment.';
const DESK_TOKEN =
  'The token in desk.token of the data directory does not work here. The next start of the service ' +
  'replaces it.';

/** The way on from a terminal, where that of the catalogue speaks of HTTP. */
const HINTS: Partial<Record<ProblemCode, string>> = {
  validation_failed: 'Correct it, and run the command again.',
  parameter_invalid: 'Correct it, and run the command again.',
  resource_not_found: 'Check the id.',
  state_conflict: 'Nothing was changed.',
  payload_too_large: 'Send less at once.',
  credential_missing: DESK_TOKEN,
  credential_invalid: DESK_TOKEN,
  credential_expired: DESK_TOKEN,
  credential_revoked: DESK_TOKEN,
  idempotency_key_required: 'Name one: --idempotency-key KEY.',
  idempotency_key_invalid: 'A key has 1 to 255 characters of A-Z a-z 0-9 . _ : ~ + / = -.',
  idempotency_key_reused: 'Take another --idempotency-key for something new.',
  approval_mismatch: 'Look again: tributary approvals show REQUEST. Then approve what it prints.',
  rate_limited: IN_A_MOMENT,
  overloaded: IN_A_MOMENT,
  shutting_down: IN_A_MOMENT,
  storage_unavailable: IN_A_MOMENT,
  storage_full: 'Nothing was written. Make room on the disk.',
  read_model_rebuilding: IN_A_MOMENT,
  consistency_timeout: IN_A_MOMENT,
  internal_error: 'It is a fault of the service; its log has more, by the request id.',
};

/** Of a write of which nobody knows, only its own key finds out. */
const wayOn = ({ code, outcome, recovery }: Refused, key: string | undefined): string[] => {
  if (outcome === 'unknown' && key !== undefined)
    return [`It may or may not have been done: repeat it with --idempotency-key ${key}.`];
  const hint = HINTS[code as ProblemCode] ?? recovery?.hint;
  return hint === undefined ? [] : [hint];
};

/** A problem as a person reads it: what, why, where, and the way on. */
export const problemText = (problem: Refused, key?: string): string =>
  [
    `${problem.title}: ${problem.detail}`,
    ...(problem.errors ?? []).map((fault) => `  ${typed(fault.pointer)}: ${fault.detail}`),
    ...wayOn(problem, key),
  ].join('\n');

/**
 * Ends a command with a problem; a write of which nobody knows ends otherwise than a refusal. `key` is
 * what the write was sent with.
 */
export const refused = (problem: Refused, key?: unknown): Failure =>
  new Failure(
    problem.outcome === 'unknown' ? EXIT.unknown : EXIT.refused,
    problemText(problem, typeof key === 'string' ? key : undefined),
    problem,
  );
