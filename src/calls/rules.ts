import type { z } from 'zod';
import type { Declared } from '#contracts/operation.ts';
import type { Concurrency } from './concurrency.ts';
import type { Limiter } from './limiter.ts';
import type { Overload } from './overload.ts';
import type { Audit, AuditedCaller } from './audit.ts';
import type { Deps } from './call.ts';
import type {
  Admission,
  Arrival,
  Budget,
  Call,
  Caller,
  CallInput,
  Surface,
} from '#src/shared/call.ts';
import type { CredentialState } from './credential-check.ts';
import type { Outcome, Refusal } from '#src/shared/outcome.ts';
import type { Parsable, Parsed } from './parse-input.ts';
import type { Identified } from './authenticate.ts';

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

/** The types of one kind of actor: who calls, what its operations declare, and what its handlers get. */
export type ActorTypes = {
  caller: Caller;
  operation: Declared;
  call: Call;
  deps: PipelineDeps;
};

/** The parts of the pipeline that depend on the kind of actor. */
export type ActorRules<
  A extends ActorTypes,
  C extends Caller = A['caller'],
  Op extends Declared = A['operation'],
> = {
  /** Finds out who presents the credential; called at admission. */
  identify(arrival: Arrival): Identified<C>;
  /** Looks an admitted caller up again, before each operation; without it, its credential is identified again. */
  confirm?(caller: C): Identified<C>;
  /** Refuses a caller without the scope or role that the operation needs. */
  authorize(operation: Op, caller: C): Refusal | undefined;
  budgetFor(operation: Op): Budget;
  charge(caller: C, budget: Budget): Pick<Admission<C>, 'headers'> & { refusal?: Refusal };
  /** Takes a place among the calls in progress of this caller; undefined where they are not limited. */
  occupy?(operation: Op, caller: C): ReturnType<Concurrency>;
  parse<Input extends object>(
    operation: Parsable<Input>,
    input: Record<string, unknown>,
  ): Parsed<Input>;
  /** Makes the call that the handler gets, with the idempotency key of the input. */
  callFor(incoming: Incoming<C>, about: { operation: Op; input: object; trail: Trail }): A['call'];
  /** The scope of the read models that a consistency token is awaited for; undefined to await none. */
  readModelScope(operation: Op, caller: C): string | undefined;
  /** Looks the credential of a caller up again, without its expiry; undefined where an actor has none. */
  currentCredential?(operation: Op, caller: C): CredentialState;
  /** Claims the key of a call whose handler does not: the dependencies of the handler, or a refusal. */
  withClaimedKey?(deps: A['deps'], call: A['call']): Promise<A['deps'] | Refusal>;
  /** Who an audit record is about; undefined for callers that are not audited. */
  auditedCallerOf(caller: C): AuditedCaller | undefined;
  /** False if a business event records the call, or if it needs no record. */
  isAudited(operation: Op, outcome: Outcome<unknown>): boolean;
  /** What the call asks for, where its audit record must have it. */
  askedIn?(operation: Op, input: Record<string, unknown>): string | undefined;
};

/** What each operation of a registry takes, as its schema leaves it, and what it answers. */
export type Signatures = { readonly [Id in string]: { input: object; answer: unknown } };

/** The signatures of handlers. */
export type SignaturesOf<H> = {
  [Id in keyof H]: H[Id] extends (
    deps: never,
    input: infer Input extends object,
    call: never,
  ) => Promise<Outcome<infer Answer>>
    ? { input: Input; answer: Answer }
    : never;
};

export type RegistryOf<S extends Signatures, Op extends Declared> = {
  readonly [Id in keyof S]: Op & { input: z.ZodType<S[Id]['input']> };
};

/** One handler for each operation: a missing one does not compile. */
export type HandlersOf<
  S extends Signatures,
  A extends Pick<ActorTypes, 'call'> & { deps: unknown },
> = {
  readonly [Id in keyof S]: (
    deps: A['deps'],
    input: S[Id]['input'],
    call: A['call'],
  ) => Promise<Outcome<S[Id]['answer']>>;
};

/** What the pipeline itself uses; handlers and rules may need more. */
export type PipelineDeps = Pick<Deps, 'log' | 'following' | 'metrics' | 'confirmation'>;

export type PipelineParts<S extends Signatures, A extends ActorTypes> = {
  deps: A['deps'];
  registry: RegistryOf<S, A['operation']>;
  handlers: HandlersOf<S, A>;
  rules: ActorRules<A>;
  audit: Audit;
  /** By address: callers without a credential, and refused credentials. */
  limiters: Record<'unauthenticated' | 'failed', Limiter>;
  overload: Overload;
};
