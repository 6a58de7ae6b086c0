import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import type { RestOperationId } from '#contracts/index.ts';
import { operations } from '#contracts/index.ts';
import { AGENT_BASE } from '#contracts/places.ts';
import { PROBLEMS } from '#contracts/problems.ts';
import type { AgentCaller } from '#src/app/pipeline/call.ts';
import { consistencyToken } from '#src/app/pipeline/consistency.ts';
import type { Deps } from '#src/app/pipeline/deps.ts';
import { dispatch, note } from '#src/app/pipeline/agent-dispatch.ts';
import type { Outcome, Refusal } from '#src/app/pipeline/outcome.ts';
import { refuse } from '#src/app/pipeline/outcome.ts';
import type { Gate } from '../http/gate.ts';
import { policyOf } from '../http/gate.ts';
import { refusalFor, sendProblem } from '../http/http.ts';
import { negotiate } from './accept.ts';
import { fileOf } from './formats.ts';
import type { Burst, Leaving } from './burst.ts';
import type { KeptAnswers } from './kept-answers.ts';
import type { Routed } from './request.ts';
import { inputReader, routePath } from './request.ts';

/** Routes of the agents' operations: credential and limit before the body is read, then the one road. */
export const agentRoutes = (
  server: FastifyInstance,
  deps: Deps,
  { gate, kept, leave }: { gate: Gate; kept: KeptAnswers; leave: Burst },
): void => {
  const callers = new WeakMap<FastifyRequest, AgentCaller>();

  /** A refusal before the one road is on record, too, once it is known who asked. */
  const refused = (id: string, reply: FastifyReply, refusal: Refusal): FastifyReply => {
    const caller = callers.get(reply.request);
    const { id: requestId } = reply.request;
    if (caller) note(deps, id, { caller, surface: 'rest', requestId }, refusal);
    return sendProblem(reply, refusal, deps.origin());
  };

  const admit = (operation: Routed): onRequestHookHandler => {
    const policy = policyOf(operation);
    const attempt = { operation: operation.id, surface: 'rest' as const };
    return (request, reply, next) => {
      reply.header('cache-control', 'no-store');
      const caller = gate.identify(request, attempt);
      if (!caller.ok) {
        sendProblem(reply, caller, deps.origin());
        return;
      }
      callers.set(request, caller.value);
      const overdrawn = gate.admit(reply, caller.value, policy);
      if (overdrawn) {
        void refused(operation.id, reply, overdrawn);
        return;
      }
      next();
    };
  };

  for (const [id, operation] of Object.entries(operations) as [RestOperationId, Routed][]) {
    const read = inputReader(operation);
    const offered = ['application/json', ...(operation.alsoAs ?? [])];
    server.route({
      method: operation.http.method,
      url: routePath(AGENT_BASE, operation.http.path),
      onRequest: admit(operation),
      errorHandler: (error, _request, reply) => {
        const refusal = refusalFor(error);
        if (PROBLEMS[refusal.code].status >= 500) throw error;
        void refused(id, reply, refusal);
      },
      handler: async (request, reply) => {
        let caller = callers.get(request);
        if (!caller) throw new Error(`${id} was reached without a caller`);
        if (operation.kind === 'command') {
          // Looked up again after the body has come: what was taken away in between counts.
          const again = gate.again(request);
          if (!again.ok) return refused(id, reply, again);
          caller = again.value;
        }
        const media = negotiate(request.headers.accept, offered);
        if (media === undefined) return refused(id, reply, notAcceptable(operation));
        const input = read(request);
        if (isRefusal(input)) return refused(id, reply, input);
        // Taken before the question is: an answer may know more than it says, never less.
        const { position } = deps.following.asOf();
        const outcome = await dispatch(deps, id, {
          caller,
          surface: 'rest',
          requestId: request.id,
          input,
          file: media !== 'application/json',
          consistencyToken: headerOf(request, 'consistency-token'),
        });
        const text = await answer(reply, outcome, { operation, media, input, deps });
        if (text === undefined) return reply;
        if (media !== 'application/json') return reply.send(text);
        kept.keep(id, request.raw, caller, { text, position });
        leave({ ...head(reply), text, bytes: Buffer.byteLength(text) });
        return reply;
      },
    });
  }
};

/** Takes the answer out of fastify's hands, with the headers that it has so far. */
const head = (reply: FastifyReply): Pick<Leaving, 'response' | 'status' | 'headers'> => {
  const headers: string[] = [];
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (name !== 'content-type') headers.push(name, String(value));
  reply.hijack();
  return { response: reply.raw, status: reply.statusCode, headers };
};

const isRefusal = (input: Record<string, unknown> | Refusal): input is Refusal =>
  'ok' in input && input.ok === false && 'code' in input;

const headerOf = (request: FastifyRequest, name: string): string | undefined => {
  const value = request.headers[name];
  return value === undefined ? undefined : String(value);
};

const notAcceptable = (operation: Routed): Refusal =>
  refuse(
    'not_acceptable',
    `${operation.id} answers ${['application/json', ...(operation.alsoAs ?? [])].join(', ')}.`,
  );

/** What was asked, of which operation, and in which media type the answer goes out. */
type Answering = {
  operation: Routed;
  media: string;
  input: Record<string, unknown>;
  deps: Deps;
};

/**
 * Status and headers of an outcome, and its text to send; undefined when it was a refusal, which is
 * sent. The same for agents and for the desk.
 */
export const answer = async (
  reply: FastifyReply,
  outcome: Outcome<unknown>,
  { operation, media, input, deps }: Answering,
): Promise<string | undefined> => {
  if (!outcome.ok) {
    sendProblem(reply, outcome, deps.origin());
    return undefined;
  }
  const { position, status, replayOf } = outcome;
  const at = position ?? deps.following.asOf().position;
  reply.header('consistency-token', consistencyToken(deps.log.id, at));
  if (replayOf !== undefined) {
    reply.header('idempotent-replayed', 'true');
    reply.header('original-request-id', replayOf);
  }
  reply.code(status ?? operation.http.status);
  if (media === 'application/json') {
    reply.type(media);
    return outcome.json ?? JSON.stringify(outcome.value);
  }
  const text = await fileOf(media, outcome, input);
  reply.type(`${media}; charset=utf-8`);
  fileHeaders(reply, outcome.value as Listed);
  return text;
};

type Listed = {
  as_of: { position: number; at: string | null };
  page: { next_cursor: string | null };
};

/** What a file has no place for: where the log stood, and where the rest is. */
const fileHeaders = (reply: FastifyReply, { as_of, page }: Listed): void => {
  reply.header('as-of', `${as_of.position}${as_of.at === null ? '' : ` ${as_of.at}`}`);
  if (page.next_cursor === null) return;
  const [path = '', query] = reply.request.url.split('?');
  const next = new URLSearchParams(query);
  next.set('cursor', page.next_cursor);
  reply.header('link', `<${path}?${next.toString()}>; rel="next"`);
};
