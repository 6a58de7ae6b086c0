/** Letters and the events that they are due to, on a log that stores streams one after another, as a server does. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Append, LogUnavailable } from '#src/ports/event-log.ts';
import { mailing } from '../support/dispatch/mailing.ts';
import { BUYER } from '../support/dispatch/rfqs.ts';
import { buyerOver } from '../support/world/server-over.ts';

const FORM = { list_revision: 1, consent: true, contact: BUYER };
const SOON_MS = 1_000;
const NEVER_MS = 600_000;

let w: Awaited<ReturnType<typeof mailing>>;
beforeEach(async () => {
  w = await mailing();
});
afterEach(async () => {
  expect(w.faults).toEqual([]);
  await w.end();
});

const isLetter = ({ events: [first] }: Append): boolean => first?.type === 'MailQueued';

/** Sends a list over a log that calls `between` when it has stored the letter and nothing else. */
const sendOver = async (between: () => Promise<void>) => {
  const { deps } = w.app.service;
  const { review_url } = await w.createList();
  const log: typeof deps.log = {
    ...deps.log,
    async appendAll(appends) {
      const letter = appends.findIndex(isLetter);
      if (letter === -1) return deps.log.appendAll(appends);
      await deps.log.appendAll(appends.slice(0, letter + 1));
      await between();
      return deps.log.appendAll(appends.slice(letter + 1));
    },
  };
  return buyerOver({ ...deps, log }, review_url).send(FORM);
};

describe('A letter', () => {
  it('A letter is stored before the event that it is due to, and names its stream', async () => {
    await w.sendRfq('live', BUYER);
    const events = await w.app.service.deps.log.readAll({ after: 0, limit: 1_000 });
    const letter = events.find(({ type }) => type === 'MailQueued');
    const sent = events.find(({ type }) => type === 'RfqSubmittedByBuyer');
    expect(letter?.meta.cause).toEqual({ stream: sent?.stream, id: sent?.id });
    expect(letter?.position).toBeLessThan(sent?.position ?? 0);
  });

  it('A letter waits for the event that it is due to, and is sent once', async () => {
    w.start();
    const gate = Promise.withResolvers<void>();
    const stored = Promise.withResolvers<void>();
    const sending = sendOver(() => {
      stored.resolve();
      return gate.promise;
    });
    await stored.promise;
    await w.settle();
    await w.advance(SOON_MS);
    expect(w.live.sent).toEqual([]);
    gate.resolve();
    expect(await sending).toMatchObject({ ok: true });
    await w.advance(SOON_MS);
    await w.advance(NEVER_MS);
    expect(w.live.sent).toMatchObject([{ to: BUYER.email }]);
  });

  it('A letter whose event never came is given up, and the next one is sent', async () => {
    w.start();
    const cut = () => Promise.reject(new LogUnavailable('fault', 'unknown', 'the power failed'));
    expect(await sendOver(cut)).toMatchObject({ ok: false });
    await w.settle();
    await w.advance(NEVER_MS);
    expect(w.live.sent).toEqual([]);
    expect(await w.events()).toEqual(['Queued', 'Failed']);
    await w.sendRfq('live', BUYER);
    await w.settle();
    expect(w.live.sent).toHaveLength(1);
  });
});
