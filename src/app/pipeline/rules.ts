import type { Declared } from '#contracts/operation.ts';
import type { Admission, Arrival, Budget } from './admission.ts';
import type { AuditedCaller } from './audit.ts';
import type { Call, CallInput, Caller, Surface } from './call.ts';
import type { Done, Outcome, Refusal } from './outcome.ts';

/** The refusal of a known credential has its subject, so that the attempt is audited. */
export type Identified<C extends Caller> = Done<C> | (Refusal & { of?: AuditedCaller });

/** A call before its input is parsed. */
export type Incoming<C extends Caller> = CallInput & {
  caller: C;
  surface: Surface;
  requestId: string;
};

/** What a handler reports for the audit record. */
export type Trail = {
  /** The first operation that it performed inside itself, which is audited in its place. */
  inner?: { id: string; outcome: Outcome<unknown> };
  /** The operation that it is about, where an earlier call performed it. */
  operation?: string;
};

/** The parts of the pipeline that depend on the kind of actor. */
export type ActorRules<C extends Caller, Op extends Declared, D> = {
  /** Finds out who presents the credential; called at admission, and again before each operation. */
  identify(arrival: Arrival): Identified<C>;
  /** Refuses a caller without the scope or role that the operation needs. */
  authorize(operation: Op, caller: C): Refusal | undefined;
  budgetFor(operation: Op): Budget;
  /** Takes one call from a budget of the caller. */
  charge(caller: C, budget: Budget): Pick<Admission<C>, 'headers'> & { refusal?: Refusal };
  parse(operation: Op, input: Record<string, unknown>): { input: object } | { refusal: Refusal };
  /** Makes the call that the handler gets, with the idempotency key of the input. */
  callFor(incoming: Incoming<C>, about: { operation: Op; input: object; trail: Trail }): Call;
  /** The scope of the read models that a consistency token is awaited for; undefined to await none. */
  readModelScope(operation: Op, caller: C): string | undefined;
  /** Claims the key of a call whose handler does not: the dependencies of the handler, or a refusal. */
  withClaimedKey?(deps: D, call: Call): Promise<D | Refusal>;
  /** Who an audit record is about; undefined for callers that are not audited. */
  auditedCallerOf(caller: C): AuditedCaller | undefined;
  /** False where a business event records the call, or nobody needs a record of it. */
  isAudited(operation: Op, outcome: Outcome<unknown>): boolean;
};
