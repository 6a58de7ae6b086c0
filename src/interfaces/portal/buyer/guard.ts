import type { FastifyRequest } from 'fastify';
import { type Refusal, refuse } from '#src/app/pipeline/outcome.ts';

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Refuses requests with a credential: they come from agents, which may neither act for a buyer nor read the list. */
export const agentRefusal = ({ headers }: FastifyRequest): Refusal | undefined =>
  headers.authorization === undefined
    ? undefined
    : refuse(
        'boundary_forbidden',
        'A review link is for its buyer alone: no credential is taken here. Nothing was changed.',
      );

/**
 * Whether a page of another site sent the form. The token is the credential, so a forged request needs it; this
 * refuses pages that learned it. A request with neither header passes (an old browser, curl), and so does
 * `Origin: null`, which pages under `no-referrer` send, as ours are, and browsers without Sec-Fetch-Site.
 */
export const isForeign = ({ method, headers }: FastifyRequest, origin: string): boolean => {
  if (SAFE.has(method)) return false;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  const from = headers.origin;
  return from !== undefined && from !== 'null' && from !== origin;
};
