import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { type AppDeps, openApp } from '#src/app/app.ts';
import { buildServer } from '#src/interfaces/server.ts';

/** Builds the server over dependencies, some of which a test replaces. */
export const serverOver = (deps: AppDeps, log = pino({ level: 'silent' })): FastifyInstance =>
  buildServer(
    openApp(deps),
    { ...deps, awaited: () => deps.confirmation?.awaited() },
    { log, trustProxy: false, countryHeader: undefined, imageOrigins: [] },
  );

/** Returns the operations of a list's buyer over such dependencies, without a form. */
export const buyerOver = (deps: AppDeps, reviewUrl: string) => {
  const { buyers } = openApp(deps);
  const token = reviewUrl.slice(reviewUrl.lastIndexOf('/') + 1);
  const request = { caller: { kind: 'buyer' as const, token }, surface: 'portal' as const };
  const requestId = () => deps.ids.uuid();
  return {
    revise: (input: Record<string, unknown>) =>
      buyers.performAs('reviseList', { ...request, requestId: requestId(), input }),
    send: (input: Record<string, unknown>) =>
      buyers.performAs('submitRfq', { ...request, requestId: requestId(), input }),
  };
};
