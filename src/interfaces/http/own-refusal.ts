import type { FastifyReply } from 'fastify';
import type { Refusal } from '#src/app/pipeline/outcome.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** How a route answers what is refused before its handler, where not as a problem. */
    refuse?: (reply: FastifyReply, refusal: Refusal) => FastifyReply;
  }
}

/** The route's own answer to a refusal; undefined where it has none. */
export const ownRefusal = (reply: FastifyReply, refusal: Refusal): FastifyReply | undefined =>
  reply.request.routeOptions.config.refuse?.(reply, refusal);
