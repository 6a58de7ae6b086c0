import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OperationId } from '#contracts/index.ts';
import type { AgentCaller } from '#src/app/call.ts';
import { consistencyToken } from '#src/app/consistency.ts';
import type { Deps } from '#src/app/deps.ts';
import { note } from '#src/app/dispatch.ts';
import type { Position } from '#src/ports/event-log.ts';
import type { Routed } from './request.ts';

const READ = { ok: true, value: null } as const;

/** Who waits for a token, or asks who it is, gets an answer of its own. */
const isKept = ({ kind, id }: Routed, { method, headers }: FastifyRequest): boolean =>
  kind === 'query' &&
  id !== 'getConnection' &&
  method === 'GET' &&
  headers['consistency-token'] === undefined;

const keyOf = (request: FastifyRequest, { keyId }: AgentCaller): string =>
  `${keyId} ${request.headers.accept ?? ''} ${request.url}`;

/** Whose events an operation's answer is a fold of. */
const subjectOf = (id: OperationId, { ownerId }: AgentCaller): string =>
  id === 'searchProducts' ? 'catalog' : ownerId;

/** Answers to queries that would come out the same again, at the door. */
export const keptAnswers = (deps: Deps, id: OperationId, operation: Routed) => ({
  /**
   * Sends a kept answer; false when there is none. Past fastify's own way of replying, which costs
   * as much as all the rest: credential, scope and limit have been looked at, nothing else is left.
   */
  send(request: FastifyRequest, reply: FastifyReply, caller: AgentCaller): boolean {
    if (!isKept(operation, request)) return false;
    if (operation.scope && !caller.scopes.has(operation.scope)) return false;
    const found = deps.answers.find(keyOf(request, caller), subjectOf(id, caller));
    if (!found) return false;
    note(deps, id, { caller, surface: 'rest', requestId: request.id }, READ);
    reply.headers({
      'consistency-token': found.token,
      'content-type': 'application/json; charset=utf-8',
      'content-length': found.bytes,
    });
    reply.hijack();
    reply.raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders).end(found.text);
    return true;
  },

  keep(
    request: FastifyRequest,
    caller: AgentCaller,
    { text, position }: { text: string; position: Position },
  ): void {
    if (!isKept(operation, request)) return;
    const token = consistencyToken(deps.log.id, position);
    deps.answers.keep(keyOf(request, caller), {
      text,
      bytes: Buffer.byteLength(text),
      position,
      token,
    });
  },
});
