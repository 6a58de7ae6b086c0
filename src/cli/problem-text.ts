/** Problems of the desk as texts for a terminal. */
import type { ProblemCode } from '#contracts/problems.ts';
import type { DeskOperationId } from '#contracts/registries/desk.ts';
import { CommandError, EXIT } from './terminal.ts';
import { formatPointer } from './verbs.ts';

export type ProblemReport = {
  code?: string;
  title: string;
  detail: string;
  status?: number;
  request_id?: string;
  recovery?: { hint: string };
  errors?: { pointer: string; detail: string; value?: string }[];
  outcome?: unknown;
};

/** The call that was refused, with the key that repeats its command. */
type RefusedCall = {
  operation?: DeskOperationId;
  key?: string | undefined;
  /** What to do about a credential that is refused, where it is not that of the data directory. */
  credentialHint?: string | undefined;
};

const TRY_AGAIN = 'Run the command again in a moment.';
const CORRECT = 'Correct it, and run the command again.';
const DESK_TOKEN =
  'The token in desk.token of the data directory is not valid here. The next start of the service ' +
  'replaces it.';

/** Hints for a terminal, where those of the problem catalogue speak of HTTP. */
const HINTS: Partial<Record<ProblemCode, string>> = {
  validation_failed: CORRECT,
  parameter_invalid: CORRECT,
  resource_not_found: 'Check the id.',
  state_conflict: 'Nothing was changed.',
  payload_too_large: 'Send less at once.',
  credential_missing: DESK_TOKEN,
  credential_invalid: DESK_TOKEN,
  credential_expired: DESK_TOKEN,
  credential_revoked: DESK_TOKEN,
  idempotency_key_required: 'Give one: --idempotency-key KEY.',
  idempotency_key_invalid: 'A key has 1 to 255 characters of A-Z a-z 0-9 . _ : ~ + / = -.',
  idempotency_key_reused: 'Use another --idempotency-key for a new change.',
  approval_mismatch: 'Look again with approvals show, and approve with the hash that it prints.',
  rate_limited: TRY_AGAIN,
  overloaded: TRY_AGAIN,
  shutting_down: TRY_AGAIN,
  storage_unavailable: TRY_AGAIN,
  storage_full: 'Nothing was written. Free space on the disk.',
  log_replaced: 'GET /readyz of the service says which log it has found, and what to do.',
  read_model_rebuilding: TRY_AGAIN,
  consistency_timeout: TRY_AGAIN,
  internal_error: 'This is a fault of the service; its log has more under the request id.',
};

/** Says how to learn the outcome of a write that got no answer. */
export const repeatHint = (key: string): string =>
  `It may or may not have been done: repeat it with --idempotency-key ${key}.`;

const hintFor = (
  { code, outcome, recovery }: ProblemReport,
  { key, credentialHint }: RefusedCall,
): string | undefined => {
  if (outcome === 'unknown' && key !== undefined) return repeatHint(key);
  if (credentialHint !== undefined && code?.startsWith('credential_')) return credentialHint;
  return HINTS[code as ProblemCode] ?? recovery?.hint;
};

/** The id under which the log of the service has a fault of the service. */
const requestLine = ({ status = 0, request_id }: ProblemReport): string | undefined =>
  status >= 500 && request_id !== undefined ? `Request id: ${request_id}` : undefined;

/** Formats a problem: what happened, each fault with its flag or argument, and what to do. */
export const formatProblem = (problem: ProblemReport, call: RefusedCall): string =>
  [
    `${problem.title}: ${problem.detail}`,
    ...(problem.errors ?? []).map(
      ({ pointer, detail, value }) =>
        `  ${formatPointer(pointer, call.operation)}: ${detail}${value === undefined ? '' : ` ("${value}")`}`,
    ),
    requestLine(problem),
    hintFor(problem, call),
  ]
    .filter((line) => line !== undefined)
    .join('\n');

/** Makes the error that ends a command with a problem. A write of unknown outcome has its own exit status. */
export const problemError = (problem: ProblemReport, call: RefusedCall = {}): CommandError =>
  new CommandError(
    problem.outcome === 'unknown' ? EXIT.unknown : EXIT.refused,
    formatProblem(problem, call),
    problem,
  );
