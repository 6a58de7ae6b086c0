import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { type AppDeps, openApp } from '#src/registries/app.ts';
import { confirmationTokenOf, quotationTokenOf } from '#src/shared/signing.ts';
import { findHandoff } from '#src/handoffs/review.ts';
import { handoffOf } from '#src/writing/streams.ts';
import { buildServer } from '#src/interfaces/server.ts';

/** Builds the server over dependencies, some of which a test replaces. */
export const serverOver = (deps: AppDeps, log = pino({ level: 'silent' })): FastifyInstance =>
  buildServer(
    openApp(deps),
    { ...deps, awaited: () => deps.confirmation?.awaited() },
    { log, trustProxy: false, countryHeader: undefined, imageOrigins: [], webOrigins: [] },
  );

/** Returns the operations of the holder of a quotation's mailed link; of the newest quotation by default. */
export const quotationOver = (
  deps: AppDeps,
  { ownerId, handoffId, number }: { ownerId: string; handoffId: string; number?: number },
) => {
  const { holders } = openApp(deps);
  const newest = async () => (await handoffOf(deps, ownerId, handoffId))?.rfq?.quotation;
  const perform = async (
    id: 'readQuotation' | 'agreeToQuotation' | 'declineQuotation' | 'askAboutQuotation',
    input: Record<string, unknown>,
  ) => {
    const of = { handoffId, number: number ?? (await newest())?.number ?? 1 };
    return holders.performAs(id, {
      caller: { kind: 'holder' as const, token: quotationTokenOf(deps.secrets, of) },
      surface: 'portal' as const,
      requestId: deps.ids.uuid(),
      input,
    });
  };
  const hashed = async (input: { hash?: string }) => ({ hash: (await newest())?.hash, ...input });
  return {
    read: () => perform('readQuotation', {}),
    agree: async (input: { hash?: string } = {}) =>
      perform('agreeToQuotation', await hashed(input)),
    decline: async (input: { hash?: string; reason?: string } = {}) =>
      perform('declineQuotation', { reason: '', ...(await hashed(input)) }),
    ask: (text: string, question = 1) => perform('askAboutQuotation', { question, text }),
  };
};

/** Returns the operations of a list's buyer over such dependencies, without a form. */
export const buyerOver = (deps: AppDeps, reviewUrl: string) => {
  const { holders } = openApp(deps);
  const token = reviewUrl.slice(reviewUrl.lastIndexOf('/') + 1);
  const request = { caller: { kind: 'holder' as const, token }, surface: 'portal' as const };
  const requestId = () => deps.ids.uuid();
  const send = (input: Record<string, unknown>) =>
    holders.performAs('submitRfq', {
      ...request,
      requestId: requestId(),
      input: { address: '192.0.2.1', ...input },
    });
  /** Confirms the newest sending of the list, with the link that its mail has. */
  const confirm = async () => {
    const row = await findHandoff(deps, token);
    const state = row && (await handoffOf(deps, row.owner, row.handoff_id));
    if (!state) throw new Error('there is no such list');
    const sent = { handoffId: state.handoff_id, number: state.rfqs_sent ?? 0 };
    return holders.performAs('confirmRequest', {
      ...request,
      caller: { kind: 'holder' as const, token: confirmationTokenOf(deps.secrets, sent) },
      requestId: requestId(),
      input: { list_revision: state.list_revision },
    });
  };
  return {
    revise: (input: Record<string, unknown>) =>
      holders.performAs('reviseList', { ...request, requestId: requestId(), input }),
    /** Sends the list; its RFQ is unconfirmed. */
    send,
    confirm,
    /** Sends the list and confirms the RFQ, as a buyer does. */
    async request(input: Record<string, unknown>) {
      const sent = await send(input);
      return sent.ok ? confirm() : sent;
    },
  };
};
