import type { Admission, Arrival, Budget, Caller, CallInput, Deps, Surface } from './call.ts';
import type { AuditedCall } from './audit.ts';
import { awaitOwnWrite, awaitToken } from './consistency.ts';
import { whileAllowed } from './credential-check.ts';
import { requireDeclared, requireOutput } from './contract-checks.ts';
import { guarded, mappingFailures } from './failure.ts';
import {
  countedAs,
  done,
  isRecorded,
  isRefusal,
  type Outcome,
  type Refusal,
  refuse,
} from '#src/shared/outcome.ts';
import type {
  AnyHandler,
  AnyHandlers,
  Incoming,
  PipelineDeps,
  PipelineParts,
  Performed,
  DeclaredOperations,
  Trail,
} from './rules.ts';
import { limitByAddress } from './limiter.ts';

/** What an exchange without an operation is audited as, when its credential is refused. */
type Unnamed = { exchange: string };

/** Surfaces whose requests may hold any operation: each call is counted, beside the request. */
const COUNTED_BY_CALL: ReadonlySet<Surface> = new Set(['mcp', 'a2a']);

const INTERNAL_ERROR = refuse('internal_error', 'The operation failed.');

/**
 * The one way from every interface to every use case, made once for each kind of actor with its registry:
 * `admit` before the body of a request is read, `perform` after it.
 */
export class Pipeline<
  R extends DeclaredOperations,
  H extends AnyHandlers<R>,
  C extends Caller,
  D extends PipelineDeps = Deps,
> {
  readonly #parts: PipelineParts<R, H, C, D>;

  constructor(parts: PipelineParts<R, H, C, D>) {
    this.#parts = parts;
  }

  /**
   * Identifies the caller, refuses the call if the service is overloaded, takes it from the caller's budget and checks
   * scope or role. Where the body names the operation, `charge` takes it from a budget later. A refusal is audited here.
   */
  admit(arrival: Arrival, about: keyof R | Unnamed): Outcome<Admission<C>> {
    const { rules } = this.#parts;
    const operation = typeof about === 'object' ? undefined : this.operationOf(about);
    const name = operation?.id ?? (about as Unnamed).exchange;
    const identified = rules.identify(arrival);
    if (!identified.ok) {
      const { of, ...refusal } = identified;
      const answered = this.#limitRefused(arrival, refusal);
      if (of) this.#parts.audit.record(of, { ...arrival, operation: name }, answered);
      return answered;
    }
    const caller = identified.value;
    const admission: Admission<C> = {
      arrival,
      caller,
      headers: {},
      isAudited: false,
      isConfirmed: false,
    };
    const refusal = operation
      ? (this.charge(admission, rules.budgetFor(operation)) ?? rules.authorize(operation, caller))
      : this.#parts.overload();
    if (!refusal) return done(admission);
    this.conclude(admission, name, refusal);
    return { ...refusal, headers: admission.headers };
  }

  /**
   * Takes one call from a budget of the caller, unless the service is overloaded: such a refusal costs the caller
   * nothing. The refusal is not audited yet.
   */
  charge(admission: Admission<C>, budget: Budget): Refusal | undefined {
    const overloaded = this.#parts.overload(budget);
    if (overloaded) return overloaded;
    const { headers, refusal } = this.#parts.rules.charge(admission.caller, budget);
    admission.headers = headers;
    return refusal && { ...refusal, headers };
  }

  /**
   * Performs an operation and audits it, unless too many calls of the caller are in progress. Looks the credential up
   * again, because it may have been revoked since the admission. Throws on a bug of the service, which is audited as an
   * internal error.
   */
  async perform<Id extends keyof R & keyof H>(
    admission: Admission<C>,
    id: Id,
    call: CallInput,
  ): Promise<Awaited<Performed<H, Id>>> {
    const operation = this.operationOf(id);
    const refusal = admission.isConfirmed ? undefined : this.confirm(admission);
    admission.isConfirmed = false;
    const place = refusal ?? this.#parts.rules.occupy?.(operation, admission.caller);
    if (isRefusal(place)) {
      this.conclude(admission, operation.id, place);
      return place as never;
    }
    admission.isAudited = true;
    const { surface, requestId } = admission.arrival;
    const incoming = { ...call, caller: admission.caller, surface, requestId };
    try {
      return (await this.#performAudited(id, incoming)) as never;
    } finally {
      place?.();
    }
  }

  /** Performs an operation for a caller without a request: a command of the command line, the demo, the service. */
  async performAs<Id extends keyof R & keyof H>(
    id: Id,
    incoming: Incoming<C>,
  ): Promise<Awaited<Performed<H, Id>>> {
    return (await this.#performAudited(id, incoming)) as never;
  }

  /** Performs a call inside another one, which is neither limited nor audited again. */
  async performInside<Id extends keyof R & keyof H>(
    id: Id,
    incoming: Incoming<C>,
  ): Promise<Awaited<Performed<H, Id>>> {
    return (await this.#run(id, incoming, {})) as never;
  }

  /**
   * Audits a request that ends without perform: a malformed body, an unknown method, a read of the protocol
   * itself. Does nothing when the request was audited before.
   */
  conclude(admission: Admission<C>, operation: string, outcome: Outcome<unknown>): void {
    if (admission.isAudited) return;
    admission.isAudited = true;
    this.#record(admission.caller, { ...admission.arrival, operation }, outcome);
  }

  /**
   * Looks the credential up again and returns the refusal if it was revoked. The caller gets its present scopes. Call it
   * in the same turn as `perform`, which then does not repeat it.
   */
  confirm(admission: Admission<C>): Refusal | undefined {
    const { rules } = this.#parts;
    const { arrival, caller } = admission;
    const identified = rules.confirm ? rules.confirm(caller) : rules.identify(arrival);
    if (!identified.ok) {
      const { of: _of, ...refusal } = identified;
      return refusal;
    }
    admission.caller = identified.value;
    admission.isConfirmed = true;
    return undefined;
  }

  budgetFor(id: keyof R): Budget {
    return this.#parts.rules.budgetFor(this.operationOf(id));
  }

  operationOf<Id extends keyof R>(id: Id): R[Id] {
    return this.#parts.registry[id];
  }

  async #performAudited(id: keyof R & keyof H, incoming: Incoming<C>): Promise<Outcome<unknown>> {
    const { rules, deps } = this.#parts;
    const operation = this.operationOf(id);
    const { caller, surface } = incoming;
    const trail: Trail = {};
    let outcome: Outcome<unknown> = INTERNAL_ERROR;
    try {
      outcome = await this.#run(id, incoming, trail);
      return outcome;
    } finally {
      const asked = rules.askedIn?.(operation, incoming.input);
      const audited = trail.inner ?? { id: trail.operation ?? operation.id, outcome };
      if (trail.inner ? !isRecorded(trail.inner.outcome) : rules.isAudited(operation, outcome))
        this.#record(caller, { ...incoming, operation: audited.id, asked }, audited.outcome);
      if (COUNTED_BY_CALL.has(surface)) {
        const called = { surface, operation: audited.id, outcome: countedAs(audited.outcome) };
        deps.metrics?.countCall(called);
      }
    }
  }

  /** Everything from a known caller to the outcome, except limits and audit. */
  async #run(
    id: keyof R & keyof H,
    incoming: Incoming<C>,
    trail: Trail,
  ): Promise<Outcome<unknown>> {
    const { rules, deps } = this.#parts;
    const operation = this.operationOf(id);
    const { caller } = incoming;
    const refusal = rules.authorize(operation, caller);
    if (refusal) return refusal;
    const parsed = rules.parse(operation, incoming.input);
    if ('refusal' in parsed) return parsed.refusal;
    const { input } = parsed;
    const call = rules.callFor(incoming, { operation, input, trail });
    const work = async (guardedDeps: D): Promise<Outcome<unknown>> => {
      const scope = rules.readModelScope(operation, caller);
      const lagging =
        scope === undefined ? undefined : await awaitToken(deps, incoming.consistencyToken, scope);
      if (lagging) return lagging;
      const claimed = (await rules.withClaimedKey?.(guardedDeps, call)) ?? guardedDeps;
      if (isRefusal(claimed)) return claimed;
      // TypeScript cannot follow a key from the registry to the handlers.
      const handler = this.#parts.handlers[id] as unknown as AnyHandler<D>;
      const outcome = await handler(claimed, input, call);
      if (!outcome.ok) return requireDeclared(operation, outcome);
      if (!outcome.isChecked) requireOutput(operation, outcome.value);
      await awaitOwnWrite(deps, outcome.position);
      return outcome;
    };
    // A query writes nothing, so it needs no record of its writes.
    if (operation.kind === 'query') return mappingFailures(() => work(deps));
    const current = rules.currentCredential?.bind(rules, operation, caller);
    const command = (guardedDeps: D) => work(whileAllowed(guardedDeps, current));
    return guarded(
      deps,
      command,
      () => trail.inner !== undefined && isRecorded(trail.inner.outcome),
    );
  }

  #record(caller: C, call: AuditedCall, outcome: Outcome<unknown>): void {
    const subject = this.#parts.rules.auditedCallerOf(caller);
    if (subject) this.#parts.audit.record(subject, call, outcome);
  }

  #limitRefused({ credential, address }: Arrival, refusal: Refusal): Refusal {
    const { unauthenticated, failed } = this.#parts.limiters;
    if (refusal.code === 'agent_suspended') return refusal;
    return limitByAddress(credential === undefined ? unauthenticated : failed, address, refusal);
  }
}
