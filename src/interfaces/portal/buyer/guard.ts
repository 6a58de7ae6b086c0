import type { FastifyRequest } from 'fastify';
import { type Refusal, refuse } from '#src/app/pipeline/outcome.ts';

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Software that shows a credential is an agent, and none may act for a buyer, or look. */
export const agentRefusal = ({ headers }: FastifyRequest): Refusal | undefined =>
  headers.authorization === undefined
    ? undefined
    : refuse(
        'boundary_forbidden',
        'A review link is for its buyer alone: no credential is taken here. Nothing was changed.',
      );

/**
 * True when another site's page sent the form. The unguessable token is the credential, and nobody
 * who lacks it can forge a request; this keeps out pages that learned it. So a request without any
 * of the two headers (an old browser, curl) passes, and so does `Origin: null`: it is what a page
 * under `no-referrer` sends, as ours are, and all that browsers without Sec-Fetch-Site, or on plain
 * http, say of themselves.
 */
export const isForeign = ({ method, headers }: FastifyRequest, origin: string): boolean => {
  if (SAFE.has(method)) return false;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  const from = headers.origin;
  return from !== undefined && from !== 'null' && from !== origin;
};
