import type { z } from 'zod';
import type { OperationId } from '#contracts/index.ts';
import { agentOperations } from '#contracts/index.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { ProblemCode } from '#contracts/problems.ts';
import { PROBLEMS, UNIVERSAL_PROBLEMS } from '#contracts/problems.ts';
import type { NeededScope, Scope } from '#contracts/scopes.ts';
import { allows } from '#contracts/scopes.ts';
import type { RequestOutcome } from '#src/ports/metrics.ts';
import type { AgentCall, AgentCaller, Surface, TaskRef } from './call.ts';
import { CREDENTIAL_PATTERN } from './authenticate.ts';
import { awaitOwnWrite, awaitToken } from './consistency.ts';
import type { Deps } from './deps.ts';
import { guarded } from './failure.ts';
import { readInput } from './input-faults.ts';
import { handlers } from './agent-handlers.ts';
import { fingerprintOf } from '../events/hash.ts';
import { idemOf } from './idempotency.ts';
import type { Outcome, Refusal } from './outcome.ts';
import { refuse, scopeMissing } from './outcome.ts';
import { secretsIn } from './secrets-in.ts';

/** A call as an interface hands it over: who, what, and the flat input as it came. */
export type Incoming = {
  caller: AgentCaller;
  surface: Surface;
  requestId: string;
  input: Record<string, unknown>;
  /** The A2A task that this call makes. */
  task?: TaskRef;
  /** The answer goes out as a file. */
  file?: boolean;
  /** Presented on reads: waits until the read models have passed it. */
  consistencyToken?: string | undefined;
};

type AnyHandler = (deps: Deps, input: object, call: AgentCall) => Promise<Outcome<unknown>>;

/**
 * The one road for every call of an agent: scope, shape, key, handler, output. Every surface comes
 * through here, and every outcome of it is on record.
 */
export const dispatch = async (
  deps: Deps,
  id: OperationId,
  incoming: Incoming,
): Promise<Outcome<unknown>> => {
  const outcome = await answerTo(deps, id, incoming);
  note(deps, id, incoming, outcome);
  const { surface } = incoming;
  // Over REST a request is its operation, and is counted as such.
  if (surface !== 'rest')
    deps.metrics?.called({ surface, operation: id, outcome: countedAs(outcome) });
  return outcome;
};

const countedAs = (outcome: Outcome<unknown>): RequestOutcome => {
  if (outcome.ok) return 'ok';
  return PROBLEMS[outcome.code].status >= 500 ? 'failed' : 'refused';
};

/** The road without the record: for another look within a call, which is one entry of it. */
export const answerTo = async (
  deps: Deps,
  id: OperationId,
  incoming: Incoming,
): Promise<Outcome<unknown>> => {
  const operation = agentOperations[id];
  const { caller } = incoming;
  if (!allows(operation.scope, caller.scopes)) return scopeMissing(id, operation.scope, caller);
  const parsed = parseInput(operation, incoming.input);
  if ('refusal' in parsed) return parsed.refusal;
  const call = callOf(deps, id, incoming, parsed.input);
  return guarded(deps, async (guardedDeps) => {
    const behind =
      operation.kind === 'query'
        ? await awaitToken(deps, incoming.consistencyToken, caller.ownerId)
        : undefined;
    if (behind) return behind;
    // The registry pairs each handler with its operation; TypeScript cannot follow a key across it.
    const handler = handlers[id] as unknown as AnyHandler;
    const outcome = await handler(guardedDeps, parsed.input, call);
    if (!outcome.ok) return declared(operation, outcome);
    if (outcome.json === undefined) checkOutput(operation, outcome.value);
    await awaitOwnWrite(deps, outcome.position);
    return outcome;
  });
};

const callOf = (deps: Deps, id: OperationId, incoming: Incoming, input: object): AgentCall => {
  const { caller, surface, requestId } = incoming;
  const operation = agentOperations[id];
  const base: AgentCall = {
    caller,
    ownerId: caller.ownerId,
    actor: caller.agentId,
    keyId: caller.keyId,
    surface,
    operation: id,
    ...scopeUsed(operation.scope, caller),
    requestId,
    at: deps.clock.now(),
    ...(incoming.task && { task: incoming.task }),
    ...(incoming.file && { file: true }),
  };
  if (!('idempotency_key' in input)) return base;
  const { idempotency_key, ...asked } = input as { idempotency_key: string };
  return {
    ...base,
    idem: idemOf(caller, id, idempotency_key),
    fingerprint: fingerprintOf(id, asked),
  };
};

const scopeUsed = (needed: NeededScope, { scopes }: AgentCaller): { scope?: Scope } => {
  const scope = [needed ?? []].flat().find((name) => scopes.has(name));
  return scope === undefined ? {} : { scope };
};

type Parsable = { kind: 'query' | 'command'; input: z.ZodObject };

/** The validated input, or every fault of it with its pointer. */
export const parseInput = (
  operation: Parsable,
  raw: Record<string, unknown>,
): { input: object } | { refusal: Refusal } => {
  if (operation.kind === 'command') {
    const key = keyRefusal(operation, raw['idempotency_key']);
    if (key) return { refusal: key };
  }
  const read = readInput(operation.input, raw);
  if ('faults' in read) {
    const errors = read.faults;
    const code = operation.kind === 'query' ? 'parameter_invalid' : 'validation_failed';
    const what = operation.kind === 'query' ? 'parameter' : 'field';
    const count = new Set(errors.map(({ pointer }) => pointer)).size;
    const detail = `${count} ${what}${count === 1 ? ' is' : 's are'} not valid.`;
    return { refusal: refuse(code, detail, { errors }) };
  }
  if (operation.kind === 'command' && CREDENTIAL_PATTERN.test(JSON.stringify(read.value)))
    return {
      refusal: refuse('secret_in_payload', 'A field holds something shaped like a key.', {
        errors: secretsIn(read.value),
      }),
    };
  return { input: read.value };
};

const keyRefusal = (operation: Parsable, key: unknown): Refusal | undefined => {
  if (key === undefined) return refuse('idempotency_key_required', 'The write came without a key.');
  const shape = operation.input.shape['idempotency_key'];
  return shape && '_zod' in shape && !(shape as z.ZodType).safeParse(key).success
    ? refuse(
        'idempotency_key_invalid',
        `Send one key of 1 to ${LIMITS.IDEMPOTENCY_KEY_CHARS_MAX} of A-Z a-z 0-9 . _ : ~ + / = -.`,
      )
    : undefined;
};

const universal: ReadonlySet<string> = new Set(UNIVERSAL_PROBLEMS);

/** A code that the operation does not declare would surprise a client: it is a bug of ours. */
const declared = (
  { id, problems }: { id: string; problems: readonly ProblemCode[] },
  refusal: Refusal,
): Refusal => {
  if (problems.includes(refusal.code) || universal.has(refusal.code)) return refusal;
  throw new Error(`${id} answered ${refusal.code}, which it does not declare`);
};

export const checkOutput = (
  { id, output }: { id: string; output: z.ZodType },
  value: unknown,
): void => {
  const result = output.safeParse(value);
  if (!result.success)
    throw new Error(`${id} made an answer outside its contract: ${result.error.message}`);
};

type Noted = Pick<Incoming, 'surface' | 'requestId'> & {
  caller: Pick<AgentCaller, 'ownerId' | 'agentId' | 'keyId'>;
};

/** Writes that happened are on record as their events; everything else is noted. */
export const note = (
  deps: Pick<Deps, 'activity'>,
  id: string,
  { caller, surface, requestId }: Noted,
  outcome: Outcome<unknown>,
): void => {
  const written = outcome.ok && outcome.position !== undefined && outcome.replayOf === undefined;
  if (written) return;
  deps.activity.note(caller, {
    operation: id,
    surface,
    request_id: requestId,
    ...(outcome.ok
      ? { decision: outcome.replayOf === undefined ? ('allowed' as const) : ('replayed' as const) }
      : { decision: decisionFor(outcome.code), code: outcome.code }),
  });
};

const decisionFor = (code: ProblemCode): 'denied' | 'failed' | 'refused' => {
  if (code === 'scope_missing' || code === 'boundary_forbidden') return 'denied';
  return code.startsWith('storage') || code === 'overloaded' ? 'failed' : 'refused';
};
