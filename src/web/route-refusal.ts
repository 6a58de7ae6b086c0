import type { FastifyReply } from 'fastify';
import type { Refusal } from '#src/shared/outcome.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answers refusals before the handler, for routes that do not answer with a problem. */
    refuse?: (reply: FastifyReply, refusal: Refusal) => FastifyReply;
  }
}

/** Lets the route answer a refusal in its own form; undefined when it has none. */
export const routeRefusal = (reply: FastifyReply, refusal: Refusal): FastifyReply | undefined =>
  reply.request.routeOptions.config.refuse?.(reply, refusal);
