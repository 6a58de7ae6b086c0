import type { FastifyInstance } from 'fastify';
import type { Deps } from '#src/app/pipeline/deps.ts';
import { keySet } from '#src/app/tasks/jws.ts';
import { documentRoute } from '../http/documents.ts';
import { CARD_PATH, KEYS_PATH, signedCard } from './card.ts';

/** The card, and the key that signed it: public. */
export const cardRoutes = (server: FastifyInstance, deps: Deps): void => {
  const { clock, origin } = deps;
  const serve = (path: string, make: () => object): void => {
    // Of this process: what is made with the next one may be another card.
    const since = new Date(clock.now()).toUTCString();
    const headers = () => ({ 'last-modified': since });
    documentRoute(server, origin, { paths: [path], type: 'application/json', make, headers });
  };
  serve(CARD_PATH, () => signedCard(deps));
  serve(KEYS_PATH, () => keySet(deps.secrets));
};
