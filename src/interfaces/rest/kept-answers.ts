import type { IncomingMessage } from 'node:http';
import type { RestOperationId } from '#contracts/index.ts';
import { operations } from '#contracts/index.ts';
import { allows } from '#contracts/scopes.ts';
import type { AgentCaller } from '#src/app/pipeline/call.ts';
import { consistencyToken } from '#src/app/pipeline/consistency.ts';
import type { Deps } from '#src/app/pipeline/deps.ts';
import { note } from '#src/app/pipeline/agent-dispatch.ts';
import type { Position } from '#src/ports/event-log.ts';
import type { Gate } from '../http/gate.ts';
import type { Door } from '../http/http.ts';
import { unsound } from '../http/request-checks.ts';
import type { Burst } from './burst.ts';

const READ = { ok: true, value: null } as const;

type Asked = Pick<IncomingMessage, 'method' | 'url' | 'headers'>;

/** Who waits for a token gets an answer of its own. */
const mayBeKept = ({ method, headers }: Asked): boolean =>
  method === 'GET' && headers['consistency-token'] === undefined;

const keyOf = ({ url = '', headers }: Asked, { keyId }: AgentCaller): string =>
  `${keyId} ${headers.accept ?? ''} ${url}`;

export type KeptAnswers = {
  /**
   * Sends an answer that would come out the same again. Past fastify, which costs as much as all the
   * rest: what it would look at is looked at here, and whatever is not in order takes the long way,
   * where it is refused.
   */
  door: Door;
  /** Keeps a JSON answer as it left; `position`: it knows all that happened up to there. */
  keep(
    id: RestOperationId,
    request: Asked,
    caller: AgentCaller,
    answer: { text: string; position: Position },
  ): void;
};

const keptDoor = (deps: Deps, gate: Gate, leave: Burst): Door => {
  return (request, response) => {
    if (!mayBeKept(request)) return false;
    const began = deps.clock.monotonic();
    const identified = gate.again(request);
    if (!identified.ok) return false;
    const caller = identified.value;
    const kept = deps.answers.find(keyOf(request, caller));
    if (!kept || !allows(operations[kept.operation].scope, caller.scopes)) return false;
    if (unsound(request)) return false;
    // What is refused takes nothing from the budget: to be refused again on the long way is free.
    const { headers, refusal } = gate.take(caller, 'read');
    if (refusal) return false;
    const requestId = deps.ids.uuid();
    note(deps, kept.operation, { caller, surface: 'rest', requestId }, READ);
    headers.push('request-id', requestId, 'consistency-token', kept.token);
    headers.push('cache-control', 'no-store');
    leave({ response, status: 200, headers, text: kept.text, bytes: kept.bytes });
    const seconds = (deps.clock.monotonic() - began) / 1_000;
    const asked = { surface: 'rest', operation: kept.operation, outcome: 'ok' } as const;
    deps.metrics?.requested(asked, seconds);
    return true;
  };
};

/** Answers to queries, kept until they would come out differently. */
export const keptAnswers = (deps: Deps, gate: Gate, leave: Burst): KeptAnswers => ({
  door: keptDoor(deps, gate, leave),

  keep(id, request, caller, { text, position }) {
    // Who asks who it is must hear what is so now.
    if (operations[id].kind !== 'query' || id === 'getConnection' || !mayBeKept(request)) return;
    deps.answers.keep(keyOf(request, caller), () => ({
      operation: id,
      // Whose events the answer is a fold of.
      subject: id === 'searchProducts' ? 'catalog' : caller.ownerId,
      text,
      bytes: Buffer.byteLength(text),
      position,
      token: consistencyToken(deps.log.id, position),
    }));
  },
});
