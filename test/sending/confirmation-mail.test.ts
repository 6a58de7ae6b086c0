/** How often a mailbox that has confirmed nothing is mailed: the messages, and what the form answers meanwhile. */
import { afterEach, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { limiter } from '#src/calls/limits.ts';
import { mailing } from '../support/dispatch/mailing.ts';
import { BUYER } from '../support/dispatch/rfqs.ts';
import { confirmationPath } from '../support/world/confirmation.ts';
import { DAY_MS, HOUR_MS } from '../support/world/outreach-acts.ts';

type World = Awaited<ReturnType<typeof mailing>>;

const WAIT_MS = LIMITS.CONFIRMATION_WAIT_MINUTES * 60_000;

const open: World[] = [];
const world = async () => {
  const one = await mailing();
  open.push(one);
  return one;
};
afterEach(async () => {
  for (const one of open.splice(0)) {
    expect(one.faults).toEqual([]);
    await one.end();
  }
});

const post = (w: World, url: string) =>
  w.app.send({
    method: 'POST',
    url,
    payload: '',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
const reasonsIn = async (w: World): Promise<unknown[]> => {
  const events = await w.app.service.deps.log.readAll({ after: 0, limit: 10_000 });
  return events.flatMap(({ type, data }) =>
    type === 'MailFailed' || type === 'MailDeferred' ? [(data as { reason: string }).reason] : [],
  );
};

describe('The message that confirms an RFQ', () => {
  it('The message that confirms an RFQ has no text that a person typed, and leads to the page', async () => {
    const w = await world();
    w.start();
    const { id } = await w.sendRfq('live', BUYER);
    await w.settle();
    const path = await confirmationPath(w.app, { id });
    expect(w.live.sent).toMatchObject([{ to: BUYER.email }]);
    for (const part of w.live.sent.flatMap(({ subject, text, html }) => [subject, text, html]))
      for (const typed of [BUYER.name, 'Mugs', 'MUG-1']) expect(part).not.toContain(typed);
    expect(w.live.sent[0]?.text).toContain(`https://t.example${path}`);
  });

  it('The message that confirms an RFQ waits ten minutes after the one before to its mailbox, and for the next day after three', async () => {
    const w = await world();
    w.start();
    for (let n = 0; n < 4; n += 1) await w.sendRfq('live', BUYER);
    await w.settle();
    expect(w.live.sent).toHaveLength(1);
    expect(await reasonsIn(w)).toEqual(['mailbox_limit', 'mailbox_limit', 'mailbox_limit']);
    await w.advance(WAIT_MS);
    expect(w.live.sent).toHaveLength(2);
    await w.advance(WAIT_MS * 5);
    expect(w.live.sent).toHaveLength(LIMITS.CONFIRMATION_MAILS_PER_DAY);
    await w.advance(DAY_MS);
    expect(w.live.sent).toHaveLength(4);
  });

  it('The message that confirms an RFQ does not wait for those to other mailboxes, until the limit of an hour', async () => {
    const w = await world();
    w.start({
      hourly: limiter({ count: 2, per: 'hour' }, () => w.app.clock.now()),
    });
    for (let n = 0; n < 3; n += 1) await w.sendRfq();
    await w.settle();
    expect(w.live.sent).toHaveLength(2);
    expect(await reasonsIn(w)).toEqual(['hourly_limit']);
    await w.advance(HOUR_MS);
    expect(w.live.sent).toHaveLength(3);
  });

  it('The message that confirms an RFQ is not sent for 90 days to a mailbox whose holder did not ask for it', async () => {
    const w = await world();
    w.start();
    const { id } = await w.sendRfq('live', BUYER);
    await w.settle();
    const link = await confirmationPath(w.app, { id });
    expect((await post(w, `${link}/not-me`)).status).toBe(303);
    await w.advance(WAIT_MS);
    // The form answers as before: it throws if it does not.
    await w.sendRfq('live', { ...BUYER, email: BUYER.email.toUpperCase() });
    await w.settle();
    expect(w.live.sent).toHaveLength(1);
    expect(await reasonsIn(w)).toEqual(['blocked']);
    await w.advance(LIMITS.MAILBOX_BLOCK_DAYS * DAY_MS);
    await w.sendRfq('live', BUYER);
    await w.settle();
    expect(w.live.sent).toHaveLength(2);
  });

  it('The message that confirms an RFQ is not sent for a sending that another one replaced', async () => {
    const w = await world();
    const { id, review_url } = await w.sendRfq('live', BUYER);
    const again = { ...BUYER, email: 'bea@corner.example' };
    await w.sendAgain(review_url, again);
    w.start();
    await w.settle();
    expect(w.live.sent.map(({ to }) => to)).toEqual([again.email]);
    expect(w.live.sent[0]?.text).toContain(await confirmationPath(w.app, { id }));
    expect(await reasonsIn(w)).toEqual(['erased']);
  });
});
