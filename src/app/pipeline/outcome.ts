import type { BoundaryId } from '#contracts/boundaries.ts';
import type { InputFault, ProblemCode } from '#contracts/problems.ts';
import type { NeededScope } from '#contracts/scopes.ts';
import type { Position } from '#src/ports/event-log.ts';

/** A refusal on its way to the caller: which, why, and where in the input. */
export type Refusal = {
  ok: false;
  code: ProblemCode;
  detail: string;
  errors?: InputFault[];
  /** Members of the problem beside the standard ones, for example the scope that is missing. */
  extra?: Record<string, unknown>;
  retryAfterS?: number;
  /** Headers beside those of the problem: what is left of the caller's budget. */
  headers?: Readonly<Record<string, string>>;
};

/** Carries a refusal to where only an error comes through: past a handler, or past fastify. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(refusal.detail);
    this.refusal = refusal;
  }
}

export type Done<Value> = {
  ok: true;
  value: Value;
  /** The value as it is sent, where the handler has written it, and checked it, piece by piece. */
  json?: string;
  /** Of a list that goes out as a file: its rows, which are not in the value, each made as it is taken. */
  rows?: Iterable<unknown>;
  /** Where the write stands in the log; makes the Consistency-Token. */
  position?: Position;
  /** Another success than the operation's own: an amended lead answers 200. */
  status?: 200 | 201;
  /** The first request's id, when this answer was given before. */
  replayOf?: string;
};

export type Outcome<Value> = Done<Value> | Refusal;

export const done = <Value>(
  value: Value,
  more: Omit<Done<Value>, 'ok' | 'value'> = {},
): Done<Value> => ({
  ok: true,
  value,
  ...more,
});

/** For answers made of texts that are kept: read back only where somebody wants the value's members. */
export const written = <Value>(json: string): Done<Value> => {
  let value: Value | undefined;
  return {
    ok: true,
    json,
    get value() {
      value ??= JSON.parse(json) as Value;
      return value;
    },
  };
};

export const refuse = (
  code: ProblemCode,
  detail: string,
  more: Pick<Refusal, 'errors' | 'extra' | 'retryAfterS'> = {},
): Refusal => ({ ok: false, code, detail, ...more });

/** Several scopes stand in one text with spaces between, as in a challenge: one of them is enough. */
export const scopeMissing = (
  id: string,
  needed: NeededScope,
  { scopes }: { scopes: ReadonlySet<string> },
): Refusal => {
  const required = [needed ?? []].flat();
  return refuse('scope_missing', `${id} needs ${required.join(' or ')}.`, {
    extra: { required_scope: required.join(' '), granted_scopes: [...scopes] },
  });
};

/** The answer to an attempt at one of the five acts, whoever tries, by whatever name. */
export const forbidden = (boundary: BoundaryId): Refusal =>
  refuse('boundary_forbidden', 'No agent can do this here, with whatever key.', {
    extra: { boundary },
  });

export const isRefusal = (value: unknown): value is Refusal =>
  typeof value === 'object' &&
  value !== null &&
  'ok' in value &&
  value.ok === false &&
  'code' in value;
