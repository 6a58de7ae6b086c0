import type { FastifyRequest } from 'fastify';
import type { Arrival, Surface } from '#src/shared/call.ts';

const BEARER = /^Bearer +(\S+) *$/i;

/** What the pipeline needs of a request before its body is read. */
export const arrivalOf = ({ headers, id, ip }: FastifyRequest, surface: Surface): Arrival => ({
  surface,
  requestId: id,
  credential: BEARER.exec(headers.authorization ?? '')?.[1],
  address: ip,
});
