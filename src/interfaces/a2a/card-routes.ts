import type { FastifyInstance } from 'fastify';
import type { AgentApp } from '#src/app/app.ts';
import { documentRoute } from '../http/documents.ts';
import { CARD_PATH, KEYS_PATH, signedCard } from './card.ts';

/** Serves the public card, and the keys that verify its signature. */
export const cardRoutes = (server: FastifyInstance, app: AgentApp): void => {
  const { origin } = app;
  const serve = (path: string, make: () => object): void => {
    // The start of the process: a new version may have another card.
    const since = new Date(app.now()).toUTCString();
    const headers = () => ({ 'last-modified': since });
    documentRoute(server, origin, { paths: [path], type: 'application/json', make, headers });
  };
  serve(CARD_PATH, () => signedCard(app));
  serve(KEYS_PATH, () => app.signingKeys());
};
