import type { DeskOperationId } from '#contracts/desk/index.ts';
import { deskOperations } from '#contracts/desk/index.ts';
import type { DeskCall, DeskCaller, Surface } from './call.ts';
import { awaitOwnWrite } from './consistency.ts';
import { checkOutput, parseInput } from './agent-dispatch.ts';
import { guarded } from './failure.ts';
import { digestOf, fingerprintOf } from '../events/hash.ts';
import { boundElsewhere, tyingLog } from './idempotency.ts';
import type { Outcome } from './outcome.ts';
import { refuse } from './outcome.ts';
import type { DeskDeps, DeskHandlers } from './desk-handler.ts';

type Incoming = {
  caller: DeskCaller;
  surface: Surface;
  requestId: string;
  input: Record<string, unknown>;
};

/** Whose every desk call is, until its handler knows for whom it is. */
const DESK = 'desk';

type AnyHandler = (deps: DeskDeps, input: object, call: DeskCall) => Promise<Outcome<unknown>>;

/** The road of people: role, shape, own owner, handler, output. */
export const dispatchDesk = async (
  deps: DeskDeps,
  handlers: DeskHandlers,
  id: DeskOperationId,
  incoming: Incoming,
): Promise<Outcome<unknown>> => {
  const operation = deskOperations[id];
  const { caller } = incoming;
  const roles: readonly string[] = operation.roles;
  if (!roles.some((role) => caller.roles.has(role as never)))
    return refuse('role_missing', `${id} needs one of: ${roles.join(', ')}.`);
  const parsed = parseInput(operation, incoming.input);
  if ('refusal' in parsed) return parsed.refusal;
  const call = callOf(deps, id, incoming, parsed.input);
  return guarded(deps, async (guardedDeps) => {
    // The registry pairs each handler with its operation; TypeScript cannot follow a key across it.
    const handler = handlers[id] as unknown as AnyHandler;
    const elsewhere = await boundElsewhere(deps, call);
    if (elsewhere) return elsewhere;
    // A desk key is one request's whoever it was for; each owner's own binding is not enough.
    const log = tyingLog(guardedDeps, call, DESK);
    const outcome = await handler({ ...guardedDeps, log }, parsed.input, call);
    if (!outcome.ok) return outcome;
    checkOutput(operation, outcome.value);
    await awaitOwnWrite(deps, outcome.position);
    return outcome;
  });
};

/** A desk key is one credential's, for one operation. */
export const deskIdem = (
  { tokenId }: Pick<DeskCaller, 'tokenId'>,
  id: DeskOperationId,
  idempotencyKey: string,
): string => digestOf('desk', tokenId, id, idempotencyKey);

const callOf = (
  deps: DeskDeps,
  id: DeskOperationId,
  incoming: Incoming,
  input: object,
): DeskCall => {
  const { caller, surface, requestId } = incoming;
  const base: DeskCall = {
    caller,
    ownerId: DESK,
    actor: `desk:${caller.tokenId}`,
    surface,
    operation: id,
    requestId,
    at: deps.clock.now(),
  };
  if (!('idempotency_key' in input)) return base;
  const { idempotency_key, ...asked } = input as { idempotency_key: string };
  const idem = deskIdem(caller, id, idempotency_key);
  return { ...base, idem, fingerprint: fingerprintOf(id, asked) };
};
