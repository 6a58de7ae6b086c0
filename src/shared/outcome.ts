/** The outcome of a call: done with a value, or a refusal with a problem code. */
import type { BoundaryId } from '#contracts/boundaries.ts';
import { type InputFault, type ProblemCode, PROBLEMS } from '#contracts/problems.ts';
import type { NeededScope } from '#contracts/scopes.ts';
import type { Position } from '#src/ports/event-log.ts';
import type { RequestOutcome } from '#src/ports/metrics.ts';

/** Why a call is not performed: a code, a text, and the places in the input. */
export type Refusal = {
  ok: false;
  code: ProblemCode;
  detail: string;
  errors?: InputFault[];
  /** More members of the problem, for example the required scope. */
  extra?: Record<string, unknown>;
  retryAfterS?: number;
  /** The error that an operator must see in the log; no caller sees it. */
  cause?: Error;
  /** More headers of the answer: what is left of the caller's budget. */
  headers?: Readonly<Record<string, string>>;
};

/** Carries a refusal through code that passes only errors: a handler's callees, or fastify. */
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
  /** The value as JSON, when the handler has serialized it itself. */
  json?: string;
  /** Set when the handler has checked the value against its contract itself. */
  isChecked?: true;
  /** Rows of a list that is sent as a file, made one by one; they are not in the value. */
  rows?: Iterable<unknown>;
  /** Position of the write in the log; makes the Consistency-Token. */
  position?: Position;
  /** A success status other than the operation's: an amended lead answers 200. */
  status?: 200 | 201;
  /** Id of the first request with this key, when its answer is replayed. */
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

/** Makes an outcome of JSON that was checked; it is parsed only when a caller reads the value. */
export const doneWithJson = <Value>(json: string): Done<Value> => {
  let value: Value | undefined;
  return {
    ok: true,
    json,
    isChecked: true,
    get value() {
      value ??= JSON.parse(json) as Value;
      return value;
    },
  };
};

export const refuse = (
  code: ProblemCode,
  detail: string,
  more: Pick<Refusal, 'errors' | 'extra' | 'retryAfterS' | 'cause'> = {},
): Refusal => ({ ok: false, code, detail, ...more });

export const refuseField = (pointer: string, code: string, detail: string): Refusal =>
  refuse('validation_failed', 'Some fields are not valid.', {
    errors: [{ pointer, code, detail }],
  });

export const refuseParameter = (pointer: `/${string}`, code: string, detail: string): Refusal =>
  refuse('parameter_invalid', '1 parameter is not valid.', {
    errors: [{ pointer, code, detail }],
  });

/** `required_scope` lists alternatives with spaces between them, as a challenge does: one is enough. */
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

/** Refuses an attempt at one of the five forbidden acts. */
export const forbidden = (boundary: BoundaryId): Refusal =>
  refuse('boundary_forbidden', 'No agent can do this, whatever its key.', {
    extra: { boundary },
  });

export const isRefusal = (value: unknown): value is Refusal =>
  typeof value === 'object' &&
  value !== null &&
  'ok' in value &&
  value.ok === false &&
  'code' in value;

/** A write that happened is recorded by its events; everything else needs an audit record. */
export const isRecorded = (outcome: Outcome<unknown>): boolean =>
  outcome.ok && outcome.position !== undefined && outcome.replayOf === undefined;

/** How the metrics count a call with this outcome. */
export const countedAs = (outcome: Outcome<unknown>): RequestOutcome => {
  if (outcome.ok) return 'ok';
  return PROBLEMS[outcome.code].status >= 500 ? 'failed' : 'refused';
};
