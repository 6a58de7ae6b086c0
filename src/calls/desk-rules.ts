import type { Deps } from '#src/calls/call.ts';
import type { DeskOperation } from '#contracts/operation.ts';
import { digestOf, fingerprintOf } from '#src/writing/hash.ts';
import { type AgentLimiters, type AtOnce, rateLimits } from './agent-rules.ts';
import { DESK } from './audit.ts';
import { type Authenticator, CREDENTIAL_PATTERN, refuseRevoked } from './authenticate.ts';
import type { DeskCall, DeskCaller } from '#src/shared/call.ts';
import { keyClaimingLog, readKeyClaims, refuseOtherRequest } from '#src/writing/idempotency.ts';
import { refuse } from '#src/shared/outcome.ts';
import { parseInput } from './parse-input.ts';
import type { ActorRules } from './rules.ts';
import { streamOfToken } from '#src/writing/streams.ts';

/**
 * Stands for a process that holds the files of the log itself. It needs no credential, and its reads are not
 * audited: a command that reads a data directory must not write to it.
 */
export const SYSTEM_TOKEN = 'system';

/** Bounds an audit record: a refused input can be long. */
const ASKED_CHARS_MAX = 1_000;
const CREDENTIALS = new RegExp(CREDENTIAL_PATTERN, 'g');

/** Hash of an idempotency key of the desk, which belongs to one token and operation. */
export const deskIdem = (
  { tokenId }: Pick<DeskCaller, 'tokenId'>,
  operation: string,
  idempotencyKey: string,
): string => digestOf('desk', tokenId, operation, idempotencyKey);

/** The input of a call whose audit record must have it, without credentials. */
const askedIn = (
  { auditsInput = false }: DeskOperation,
  input: Record<string, unknown>,
): string | undefined =>
  auditsInput
    ? JSON.stringify(input).replaceAll(CREDENTIALS, '[credential]').slice(0, ASKED_CHARS_MAX)
    : undefined;

/** `D`: what the handlers of its registry need. */
export type DeskActor<D extends Deps = Deps> = {
  caller: DeskCaller;
  operation: DeskOperation;
  call: DeskCall;
  deps: D;
};

/** Rules for the desk: desk tokens, roles, budgets by token, idempotency keys; refusals and personal reads are audited. */
export const deskRules = <D extends Deps>(
  deps: D,
  authenticator: Authenticator,
  { atOnce, ...limiters }: Pick<AgentLimiters, 'read' | 'write'> & { atOnce: AtOnce },
): ActorRules<DeskActor<D>> => {
  const take = rateLimits(limiters);
  return {
    identify({ credential }) {
      if (credential === undefined)
        return refuse('credential_missing', 'Send Authorization: Bearer <DESK_TOKEN>.');
      return authenticator.desk(credential);
    },
    authorize: ({ id, roles }, caller) =>
      roles.some((role) => caller.roles.has(role))
        ? undefined
        : refuse('role_missing', `${id} needs one of: ${roles.join(', ')}.`),
    budgetFor: ({ kind }) => (kind === 'query' ? 'read' : 'write'),
    charge: ({ tokenId }, budget) => take(tokenId, budget === 'read' ? 'read' : 'write'),
    occupy: ({ kind }, { tokenId }) => atOnce[kind](tokenId),
    currentCredential(_operation, { tokenId }) {
      const token = deps.credentials.deskToken(tokenId);
      if (!token) return { refusal: undefined, streams: [] };
      const revision = token.status === 'active' ? 0 : 1;
      return {
        refusal: refuseRevoked(token),
        streams: [{ stream: streamOfToken(tokenId), revision }],
      };
    },
    parse: parseInput,
    callFor({ caller, surface, requestId }, { operation: { id }, input }): DeskCall {
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
      const { idempotency_key, ...fields } = input as { idempotency_key: string };
      const idem = deskIdem(caller, id, idempotency_key);
      return { ...base, idem, fingerprint: fingerprintOf(id, fields) };
    },
    readModelScope: () => undefined,
    async withClaimedKey(guardedDeps, call) {
      const refusal = refuseOtherRequest(await readKeyClaims(deps, call), call);
      // A key of the desk is claimed for all owners together.
      return refusal ?? { ...guardedDeps, log: keyClaimingLog(guardedDeps, call, DESK) };
    },
    auditedCallerOf: ({ tokenId }) =>
      tokenId === SYSTEM_TOKEN ? undefined : { kind: 'desk', tokenId },
    isAudited: ({ readsPersonalData = false, auditsInput = false }, { ok }) =>
      !ok || readsPersonalData || auditsInput,
    askedIn,
  };
};
