/** The path of every call, from its arrival to its answer, in numbered steps. Start reading at `Pipeline`. */
import { LIMITS } from '#contracts/limits.ts';
import type { Declared } from '#contracts/operation.ts';
import { acceptsConsistencyToken } from '#contracts/places.ts';
import { UNIVERSAL_PROBLEMS } from '#contracts/problems.ts';
import type { Position } from '#src/ports/event-log.ts';
import type {
  Admission,
  Arrival,
  Budget,
  CallInput,
  Surface,
  VisitorCall,
} from '#src/shared/call.ts';
import {
  type Done,
  type Refusal,
  refuse,
  type Outcome,
  countedAs,
  done,
  isRecorded,
  isRefusal,
} from '#src/shared/outcome.ts';
import { readKeyClaims, refuseOtherRequest } from '#src/writing/idempotency.ts';
import type { AuditedCall, AuditedCaller, RecordedAnswer } from './audit.ts';
import {
  mappingFailures,
  replacedLog,
  storeRefusal,
  askCurrent,
  type Freshness,
} from './failure.ts';
import type { Deps } from './handlers.ts';
import { parseFields } from './input.ts';
import { limitByAddress, networkOf, type Overload } from './limits.ts';
import { callLog } from './log.ts';
import type {
  ActorTypes,
  Incoming,
  PipelineParts,
  RowsRead,
  RegistryOf,
  Signatures,
  Trail,
  HandlersOf,
} from './rules.ts';

/** Limit of the wait of a write's answer for the read models; a later read can wait with its token. */
const OWN_WRITE_WAIT_MS = 50;

/** Names a position of one log. Opaque to clients; another log refuses it. */
export const consistencyToken = (logId: string, position: Position): string =>
  Buffer.from(`${logId.slice(0, 8)}:${position}`).toString('base64url');

/** The position in a token; undefined in one of another log. */
const positionIn = ({ log }: Pick<Deps, 'log'>, token: string): Position | undefined => {
  const [, logId, digits] =
    /^([^:]{8}):(\d{1,15})$/.exec(Buffer.from(token, 'base64url').toString('latin1')) ?? [];
  return logId === log.id.slice(0, 8) ? Number(digits) : undefined;
};

const NOT_OF_THIS_LOG = refuse('consistency_token_invalid', 'The token is not of this log.');

/**
 * Waits until the rows that a call reads have what its token names, and what this process acknowledged to their owner, for
 * LIMITS.CONSISTENCY_WAIT_MS_MAX at most.
 */
export const awaitWrites = async (
  deps: Pick<Deps, 'log' | 'following' | 'acknowledged'>,
  { owner, scope }: RowsRead,
  token: string | undefined,
): Promise<Refusal | undefined> => {
  const { log, following, acknowledged } = deps;
  const named = token === undefined ? 0 : positionIn(deps, token);
  if (named === undefined) return NOT_OF_THIS_LOG;
  const position = Math.max(named, acknowledged.newest(owner) ?? 0);
  if (position === 0) return undefined;
  const hasNamed = named === 0 || named <= (await log.head()).position;
  if (hasNamed && (await following.passed(position, LIMITS.CONSISTENCY_WAIT_MS_MAX, scope)))
    return undefined;
  // The known log may have the position: another process can have written after this one last read the head.
  if (named > 0 && log.replacement?.() !== undefined) return replacedLog(false);
  if (!hasNamed) return NOT_OF_THIS_LOG;
  return refuse(
    position === named ? 'consistency_timeout' : 'read_model_rebuilding',
    'The read models have not reached what was written before this call.',
    { retryAfterS: 1 },
  );
};

/** Waits until the read models of this process have passed its own write, so that it reads what it wrote. */
const awaitOwnWrite = async (deps: Pick<Deps, 'following'>, position?: Position) => {
  if (position !== undefined) await deps.following.passed(position, OWN_WRITE_WAIT_MS);
};

const universal: ReadonlySet<string> = new Set(UNIVERSAL_PROBLEMS);

/** Returns the outcome; throws on one outside the contract of the operation, unless its handler has checked it. */
const requireContract = <Value>(operation: Declared, outcome: Outcome<Value>): Outcome<Value> => {
  if (!outcome.ok) return requireDeclared(operation, outcome);
  if (!outcome.isChecked) requireOutput(operation, outcome.value);
  return outcome;
};

/** Returns a refusal whose code the operation declares; throws on any other, which is a bug of the service. */
export const requireDeclared = ({ id, problems }: Declared, refusal: Refusal): Refusal => {
  if (problems.includes(refusal.code) || universal.has(refusal.code)) return refusal;
  throw new Error(`${id} answered ${refusal.code}, which it does not declare`);
};

/** Throws on an answer outside the schema of the operation, which is a bug of the service. */
export const requireOutput = (
  { id, output }: Pick<Declared, 'id' | 'output'>,
  value: unknown,
): void => {
  const result = output.safeParse(value);
  if (!result.success)
    throw new Error(`${id} made an answer outside its contract: ${result.error.message}`);
};

/** The refusal of a credential as its caller sees it. */
const withoutSubject = ({
  of: _of,
  ...refusal
}: Refusal & { of?: AuditedCaller | undefined }): Refusal => refusal;

/** What an exchange without an operation is audited as, when its credential is refused. */
type Unnamed = { exchange: string };

/** Surfaces whose requests may hold any operation: each call is counted, beside the request. */
const COUNTED_BY_CALL: ReadonlySet<Surface> = new Set(['mcp', 'a2a']);

const INTERNAL_ERROR = refuse('internal_error', 'The operation failed.');

/**
 * The path of a call from every interface to every use case. Start reading here; the numbers below are those of the comments.
 * It is made once for each kind of actor, with its registry and its rules; visitors have a shorter one, `VisitorPipeline`.
 *
 * `admit`, before the body of a request is read:
 *  1. Identify: find out who presents the credential. Refusals are limited by network address.
 *  2. Limit: refuse what would wait too long, then take the call from the budget of the caller.
 *  3. Authorize: compare the scopes or roles of the caller with those that the operation needs.
 *
 * `perform`, after it:
 *  4. Confirm: look the credential up again. It may have been revoked while the body was read.
 *  5. Occupy: take a place among the calls of the caller that are in progress.
 *  6. Authorize the scopes of now. A call inside another one, and one without a request, begin here.
 *  7. Parse: validate the input by its schema, every fault with its pointer.
 *  8. Make the call: actor, time, idempotency key and fingerprint.
 *  9. Guard the log: each append of a command requires that the credential still allows it (`callLog`), and an
 *     unavailable store becomes a refusal that says whether something was written (`failure.ts`).
 * 10. Wait for earlier writes: a read sees what its consistency token names, and what this process acknowledged to its owner.
 * 11. Refuse an idempotency key of another request at the desk. Its log claims the key with the first append, whatever that
 *     is; handlers of agents claim it together with their record.
 * 12. Handle: the use case reads, decides and appends; see `src/writing/decide-and-append.ts`. Its final refusal, as those of
 *     steps 1, 3 and 6, counts only if this process had read what the log had; see `askCurrent`.
 * 13. Check the outcome against the contract: the problem codes that it declares, the schema of the answer.
 * 14. Wait a little for the read models of this process, so that the caller reads what it wrote.
 * 15. Audit what no event records, with the hash of the answer where the owner wants that; count the call, and free the place.
 *
 * @example
 * const admitted = await agents.admit(arrival, 'createLink');
 * if (!admitted.ok) return sendProblem(admitted);
 * const outcome = await agents.perform(admitted.value, 'createLink', { input });
 */
export class Pipeline<S extends Signatures, A extends ActorTypes> {
  readonly #parts: PipelineParts<S, A>;

  constructor(parts: PipelineParts<S, A>) {
    this.#parts = parts;
  }

  /**
   * Identifies the caller, refuses the call if the service is overloaded, takes it from the caller's budget and checks
   * scope or role. Where the body names the operation, `charge` takes it from a budget later. A refusal is audited here.
   */
  async admit(
    arrival: Arrival,
    about: keyof S | Unnamed,
  ): Promise<Outcome<Admission<A['caller']>>> {
    const { rules } = this.#parts;
    const operation = typeof about === 'object' ? undefined : this.operationOf(about);
    const name = typeof about === 'object' ? about.exchange : this.operationOf(about).id;
    // 1. Identify.
    const identified = await askCurrent(this.#freshnessFor(arrival), () => rules.identify(arrival));
    if (!identified.ok) {
      const answered = this.#limitRefused(arrival, withoutSubject(identified));
      const of = 'of' in identified ? identified.of : undefined;
      if (of) this.#parts.audit.record(of, { ...arrival, operation: name }, answered);
      return answered;
    }
    const caller = identified.value;
    const admission: Admission<A['caller']> = {
      arrival,
      caller,
      headers: {},
      isAudited: false,
    };
    // 2. Limit. 3. Authorize. Without an operation, `charge` and `perform` do both once the body names one.
    const refusal = operation
      ? (this.charge(admission, rules.budgetFor(operation)) ??
        (await this.#authorize(operation, admission)))
      : this.#parts.overload();
    if (!refusal) return done(admission);
    this.conclude(admission, name, refusal);
    return { ...refusal, headers: admission.headers };
  }

  /**
   * Takes one call from a budget of the caller, unless the service is overloaded: such a refusal costs the caller
   * nothing. The refusal is not audited yet.
   */
  charge(admission: Admission<A['caller']>, budget: Budget): Refusal | undefined {
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
  async perform<Id extends keyof S>(
    admission: Admission<A['caller']>,
    id: Id,
    call: CallInput,
  ): Promise<Outcome<S[Id]['answer']>> {
    const operation = this.operationOf(id);
    // 4. Confirm.
    const refusal = this.confirm(admission);
    // 5. Occupy.
    const place = refusal ?? this.#parts.rules.occupy?.(operation, admission.caller);
    if (isRefusal(place)) {
      this.conclude(admission, operation.id, place);
      return place;
    }
    admission.isAudited = true;
    const { surface, requestId, page, client } = admission.arrival;
    const incoming = { ...call, caller: admission.caller, surface, requestId, page, client };
    try {
      return await this.#performAudited(id, incoming);
    } finally {
      place?.();
    }
  }

  /** Performs an operation for a caller without a request: a command of the command line, the demo, the service. */
  performAs<Id extends keyof S>(
    id: Id,
    incoming: Incoming<A['caller']>,
  ): Promise<Outcome<S[Id]['answer']>> {
    return this.#performAudited(id, incoming);
  }

  /** Performs a call inside another one, which is neither limited nor audited again. */
  performInside<Id extends keyof S>(
    id: Id,
    incoming: Incoming<A['caller']>,
  ): Promise<Outcome<S[Id]['answer']>> {
    return this.#run(id, incoming, {});
  }

  /**
   * Audits a request that ends without perform: a malformed body, an unknown method, a read of the protocol
   * itself. Does nothing when the request was audited before.
   */
  conclude(admission: Admission<A['caller']>, operation: string, outcome: Outcome<unknown>): void {
    if (admission.isAudited) return;
    admission.isAudited = true;
    this.#record(admission.caller, { ...admission.arrival, operation }, outcome);
  }

  /**
   * Looks the credential up again and returns the refusal if it was revoked. The caller gets its present scopes. `perform`
   * does it itself; a request that performs no operation needs it after its body was read.
   */
  confirm(admission: Admission<A['caller']>): Refusal | undefined {
    const { rules } = this.#parts;
    const { arrival, caller } = admission;
    const identified = rules.confirm ? rules.confirm(caller) : rules.identify(arrival);
    if (!identified.ok) return withoutSubject(identified);
    admission.caller = identified.value;
    return undefined;
  }

  budgetFor(id: keyof S): Budget {
    return this.#parts.rules.budgetFor(this.operationOf(id));
  }

  operationOf<Id extends keyof S>(id: Id): RegistryOf<S, A['operation']>[Id] {
    return this.#parts.registry[id];
  }

  async #performAudited<Id extends keyof S>(
    id: Id,
    incoming: Incoming<A['caller']>,
  ): Promise<Outcome<S[Id]['answer']>> {
    const { rules, deps } = this.#parts;
    const operation = this.operationOf(id);
    const { caller, surface } = incoming;
    const trail: Trail = {};
    let outcome: Outcome<S[Id]['answer']> = INTERNAL_ERROR;
    let answer: RecordedAnswer | undefined;
    try {
      outcome = await this.#run(id, incoming, trail);
      const { question } = trail;
      // The rows of a file are read while it is sent.
      if (question && outcome.ok && !outcome.rows)
        answer = await rules.recordAnswer?.(operation, caller, { ...question, ...outcome });
      return outcome;
    } finally {
      // 15. Audit and count. A task is audited by the first operation that it performed inside itself.
      const asked = rules.askedIn?.(operation, incoming.input);
      const audited = trail.inner ?? { id: trail.operation ?? operation.id, outcome };
      if (trail.inner ? !isRecorded(trail.inner.outcome) : rules.isAudited(operation, outcome))
        this.#record(
          caller,
          { ...incoming, operation: audited.id, asked, answer },
          audited.outcome,
        );
      if (COUNTED_BY_CALL.has(surface)) {
        const called = { surface, operation: audited.id, outcome: countedAs(audited.outcome) };
        deps.metrics?.countCall(called);
      }
    }
  }

  /** Everything from a known caller to the outcome, except limits and audit. */
  async #run<Id extends keyof S>(
    id: Id,
    incoming: Incoming<A['caller']>,
    trail: Trail,
  ): Promise<Outcome<S[Id]['answer']>> {
    const { rules, deps } = this.#parts;
    const operation = this.operationOf(id);
    // 6. Authorize.
    const allowed = { caller: incoming.caller };
    const refusal = await this.#authorize(operation, allowed);
    if (refusal) return refusal;
    // 7. Parse.
    const parsed = rules.parse<S[Id]['input']>(operation, incoming.input);
    if ('refusal' in parsed) return parsed.refusal;
    const { input } = parsed;
    const tooHeavy = rules.weigh?.(operation, allowed.caller, input);
    if (tooHeavy) return tooHeavy;
    // 8. Make the call.
    const call = rules.callFor({ ...incoming, ...allowed }, { operation, input, trail });
    trail.question = { input, at: call.at };
    // 9. Guard the log. A query writes nothing.
    const log =
      operation.kind === 'query'
        ? undefined
        : callLog(deps, call, {
            credential: rules.currentCredential?.bind(rules, operation, allowed.caller),
            keyStream: rules.keyStream,
          });
    const hasWritten = (): boolean =>
      log?.hasWritten() === true || (trail.inner !== undefined && isRecorded(trail.inner.outcome));
    try {
      // 10. Wait for earlier writes.
      const reads = rules.reads(operation, allowed.caller);
      const token = acceptsConsistencyToken(operation) ? incoming.consistencyToken : undefined;
      const lagging = reads && (await awaitWrites(deps, reads, token));
      if (lagging) return lagging;
      // 11. Refuse a key of another request.
      const reused =
        rules.keyStream === undefined
          ? undefined
          : refuseOtherRequest(await readKeyClaims(deps, call), call);
      if (reused) return reused;
      // 12. Handle.
      const handled = await askCurrent(
        deps.freshness,
        () => {
          delete trail.inner;
          return this.#parts.handlers[id](log ? { ...deps, log } : deps, input, call);
        },
        { hasActed: hasWritten },
      );
      // 13. Check.
      const outcome = requireContract(operation, handled);
      // 14. Wait for the own write.
      if (outcome.ok) await awaitOwnWrite(deps, outcome.position);
      return outcome;
    } catch (error) {
      return storeRefusal(error, hasWritten());
    }
  }

  /**
   * Why the caller may not perform the operation. A caller without the scope or role is looked up again once this process
   * has read what the log has, and replaced by what it is then.
   */
  async #authorize(
    operation: A['operation'],
    holder: { caller: A['caller'] },
  ): Promise<Refusal | undefined> {
    const { rules, deps } = this.#parts;
    const allow = (): Done<A['caller']> | Refusal =>
      rules.authorize(operation, holder.caller) ?? done(holder.caller);
    const allowed = await askCurrent(deps.freshness, allow, {
      again() {
        const found = rules.confirm?.(holder.caller);
        if (found?.ok === false) return withoutSubject(found);
        if (found) holder.caller = found.value;
        return allow();
      },
    });
    return allowed.ok ? undefined : allowed;
  }

  /** Undefined where no log is asked: without a credential, and after too many wrong ones from the same address. */
  #freshnessFor({ credential, address }: Arrival): Freshness | undefined {
    const { deps, limiters } = this.#parts;
    if (
      !deps.freshness ||
      credential === undefined ||
      !limiters.failed.peek(networkOf(address)).allowed
    )
      return undefined;
    return deps.freshness;
  }

  #record(caller: A['caller'], call: AuditedCall, outcome: Outcome<unknown>): void {
    const subject = this.#parts.rules.auditedCallerOf(caller);
    if (subject) this.#parts.audit.record(subject, call, outcome);
  }

  #limitRefused({ credential, address }: Arrival, refusal: Refusal): Refusal {
    const { unauthenticated, failed } = this.#parts.limiters;
    if (refusal.code === 'agent_suspended') return refusal;
    return limitByAddress(credential === undefined ? unauthenticated : failed, address, refusal);
  }
}

export type VisitorRequest = { surface: Surface; requestId: string };

type Parts<S extends Signatures, D> = {
  deps: D;
  registry: RegistryOf<S, Declared>;
  handlers: HandlersOf<S, { deps: D; call: VisitorCall }>;
  overload: Overload;
};

/**
 * The path of a visitor's call to its use case. A visitor has no credential, no limit of calls and no audit record: a visit
 * is an event of its own. Only overload refuses one, redirects last.
 */
export class VisitorPipeline<S extends Signatures, D extends Pick<Deps, 'clock' | 'freshness'>> {
  readonly #parts: Parts<S, D>;

  constructor(parts: Parts<S, D>) {
    this.#parts = parts;
  }

  /** Refuses a call that would wait too long in this process. */
  admit(id: keyof S): Refusal | undefined {
    return this.#parts.overload(id === 'visitLink' ? 'redirect' : 'read');
  }

  /** Performs an admitted call. Throws on a bug of the service. */
  async perform<Id extends keyof S>(
    id: Id,
    { surface, requestId, input }: VisitorRequest & Pick<CallInput, 'input'>,
  ): Promise<Outcome<S[Id]['answer']>> {
    const { deps, registry, handlers } = this.#parts;
    const operation = registry[id];
    const parsed = parseFields<S[Id]['input']>(operation, input);
    if ('refusal' in parsed) return parsed.refusal;
    const call: VisitorCall = {
      caller: { kind: 'visitor' },
      ownerId: '',
      actor: 'visitor',
      surface,
      operation: operation.id,
      requestId,
      at: deps.clock.now(),
    };
    return mappingFailures(async () => {
      const handle = () => handlers[id](deps, parsed.input, call);
      return requireContract(operation, await askCurrent(deps.freshness, handle));
    });
  }
}
