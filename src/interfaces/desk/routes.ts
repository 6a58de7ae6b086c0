import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { DeskOperationId } from '#contracts/desk/index.ts';
import { deskOperations } from '#contracts/desk/index.ts';
import { DESK_BASE } from '#contracts/places.ts';
import type { Authenticator } from '#src/app/pipeline/authenticate.ts';
import type { Surface } from '#src/app/pipeline/call.ts';
import { dispatchDesk } from '#src/app/pipeline/desk-dispatch.ts';
import type { DeskDeps } from '#src/app/pipeline/desk-handler.ts';
import { deskHandlers } from '#src/app/pipeline/desk-handlers.ts';
import type { Outcome } from '#src/app/pipeline/outcome.ts';
import { refuse } from '#src/app/pipeline/outcome.ts';
import { limitedByAddress } from '../http/by-address.ts';
import type { Limiters } from '../http/gate.ts';
import { bearerOf } from '../http/gate.ts';
import { sendProblem } from '../http/http.ts';
import { inputReader, routePath } from '../rest/request.ts';
import { answer } from '../rest/routes.ts';

/** Imports and erasures may take longer than an agent's call; the socket's own limits stay. */
const IMPORT_BYTES_MAX = 1_048_576;

/** Routes of the desk: the same shapes as the agents', behind other credentials. */
export const deskRoutes = (
  server: FastifyInstance,
  deps: DeskDeps,
  { authenticator, limiters }: { authenticator: Authenticator; limiters: Limiters },
): void => {
  for (const [id, operation] of Object.entries(deskOperations) as [
    DeskOperationId,
    Parameters<typeof inputReader>[0],
  ][]) {
    const read = inputReader(operation);
    server.route({
      method: operation.http.method,
      url: routePath(DESK_BASE, operation.http.path),
      bodyLimit: IMPORT_BYTES_MAX,
      onRequest: async (request, reply) => {
        reply.header('cache-control', 'no-store');
        const refused = identify(request);
        if (!refused.ok) return sendProblem(reply, refused, deps.origin());
      },
      handler: async (request, reply) => {
        // Looked up again after the body has come: a revocation in between counts.
        const caller = authenticator.desk(bearerOf(request) ?? '');
        if (!caller.ok) return sendProblem(reply, caller, deps.origin());
        const input = read(request);
        if ('ok' in input && input.ok === false && 'code' in input)
          return sendProblem(reply, input as never, deps.origin());
        const surface: Surface = request.headers['user-agent']?.startsWith('tributary-cli')
          ? 'cli'
          : 'desk';
        const outcome = await dispatchDesk(deps, deskHandlers, id, {
          caller: caller.value,
          surface,
          requestId: request.id,
          input: input,
        });
        const media = 'application/json';
        const text = await answer(reply, outcome, { operation, media, input, deps });
        return text === undefined ? reply : reply.send(text);
      },
    });
  }

  const identify = (request: FastifyRequest): Outcome<unknown> => {
    const credential = bearerOf(request);
    if (credential === undefined)
      return limitedByAddress(
        limiters.unauthenticated,
        request,
        refuse('credential_missing', 'Send Authorization: Bearer <DESK_TOKEN>.'),
      );
    const caller = authenticator.desk(credential);
    return caller.ok ? caller : limitedByAddress(limiters.failed, request, caller);
  };
};
