/** When a message is sent, how often, and what is known about each attempt. */
import { referenceOf } from '#src/ports/reference.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { contactSubjectOf } from '#src/handoffs/render-handoff.ts';
import { BUYER, STAFF_MAIL } from '../support/dispatch/rfqs.ts';
import { mailing } from '../support/dispatch/mailing.ts';
import { DAY_MS, HOUR_MS } from '../support/world/outreach-acts.ts';

type World = Awaited<ReturnType<typeof mailing>>;

const RETRY = { outcome: 'retry', reason: 'smtp_451' } as const;
const LOST = { outcome: 'unknown', reason: 'smtp_econnection' } as const;
const REFUSED = { outcome: 'refused', reason: 'smtp_550' } as const;

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

describe('The notice of a new RFQ', () => {
  it('The notice of a new RFQ is queued with the RFQ, and sent to staff once without anything about the buyer', async () => {
    const w = await world();
    w.start();
    const id = await w.requestRfq();
    await w.settle();
    const toStaff = w.live.sent.filter(({ to }) => to === STAFF_MAIL);
    expect(toStaff).toMatchObject([{ attempt: 1, subject: `New RFQ ${referenceOf(id)}` }]);
    for (const part of toStaff.flatMap(({ text, html }) => [text, html])) {
      expect(part).toContain('1 line, in total £95.52');
      expect(part).toContain(`/desk/r/${id}`);
      for (const secret of [BUYER.name, BUYER.email]) expect(part).not.toContain(secret);
    }
    await w.advance(30 * DAY_MS);
    expect(w.live.sent.map(({ to }) => to).toSorted()).toEqual(
      [BUYER.email, BUYER.email, STAFF_MAIL].toSorted(),
    );
  });

  it('The notice of a new RFQ in a test space goes only to the directory', async () => {
    const w = await world();
    w.start();
    await w.requestRfq('test');
    await w.settle();
    expect(w.live.sent).toEqual([]);
    expect(w.test.sent.map(({ to }) => to)).toContain(STAFF_MAIL);
  });

  it('The log holds the mailbox of staff only in sealed form in the notice of a new RFQ', async () => {
    const w = await world();
    await w.requestRfq();
    const events = await w.app.service.deps.log.readAll({ after: 0, limit: 10_000 });
    expect(events.map(({ type }) => type)).toContain('MailQueued');
    expect(JSON.stringify(events)).not.toContain(STAFF_MAIL);
  });
});

describe('A message', () => {
  it('A message that the server defers is sent again with the same id, until the server accepts it', async () => {
    const w = await world();
    w.live.play(() => RETRY);
    w.start();
    await w.sendRfq();
    await w.advance(4_999);
    expect(w.live.sent).toHaveLength(1);
    await w.advance(2_000);
    expect(w.live.sent).toHaveLength(2);
    w.live.play(() => ({ outcome: 'delivered', evidence: 'smtp_250' }));
    await w.advance(HOUR_MS);
    const [first, ...others] = w.live.sent;
    expect(others).toMatchObject([
      { ...first, attempt: 2 },
      { ...first, attempt: 3 },
    ]);
    expect(await w.events()).toEqual([
      'Queued',
      'Dispatched',
      'Deferred',
      'Dispatched',
      'Deferred',
      'Dispatched',
      'Sent',
    ]);
  });

  it('A message is repeated once after an unknown outcome, with the same id', async () => {
    const w = await world();
    w.live.play(() => LOST);
    w.start();
    await w.sendRfq();
    await w.advance(4 * DAY_MS);
    expect(w.live.sent.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(new Set(w.live.sent.map(({ id, at }) => `${id} ${at}`)).size).toBe(1);
    expect((await w.events()).at(-1)).toBe('OutcomeUnknown');
  });

  it('A message that the server refuses fails at once', async () => {
    const w = await world();
    w.live.play(() => REFUSED);
    w.start();
    await w.sendRfq();
    await w.advance(DAY_MS);
    expect(await w.events()).toEqual(['Queued', 'Dispatched', 'Failed']);
  });

  it('A message fails whose server does not answer until its time is over', async () => {
    const w = await world();
    w.live.play(() => RETRY);
    w.start();
    await w.sendRfq();
    await w.advance(4 * DAY_MS);
    const events = await w.events();
    expect(events.at(-1)).toBe('Failed');
    expect(events.filter((type) => type === 'Dispatched').length).toBeGreaterThan(4);
  });

  it('A message whose sender is gone is repeated by another process after its time', async () => {
    const w = await world();
    const late = Promise.withResolvers<typeof LOST>();
    w.live.play(() => late.promise);
    // A process that hangs: its timers never end.
    w.start({ schedule: () => () => undefined });
    await w.sendRfq();
    await w.live.sending(1);
    await w.start().idle();
    expect(w.live.sent).toHaveLength(1);
    w.live.play(() => ({ outcome: 'delivered', evidence: 'smtp_250' }));
    w.time.fire(60_000);
    await w.live.sending(2);
    late.resolve(LOST);
    await w.settle();
    expect(w.live.sent.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(await w.events()).toEqual(['Queued', 'Dispatched', 'Deferred', 'Dispatched', 'Sent']);
  });

  it('A message that is refused by a process that was thought to be gone fails, and is not sent again', async () => {
    const w = await world();
    w.live.play(() => RETRY);
    const first = w.start();
    await w.sendRfq();
    await w.settle();
    await first.stop();
    w.time.jump(6_000);
    const late = Promise.withResolvers<typeof REFUSED>();
    w.live.play(() => late.promise);
    const hanging = w.start({ schedule: () => () => undefined });
    await w.live.sending(2);
    const other = w.start();
    await other.idle();
    w.time.fire(60_000);
    await other.idle();
    const before = ['Queued', 'Dispatched', 'Deferred', 'Dispatched', 'Deferred'];
    expect(await w.events()).toEqual(before);
    late.resolve(REFUSED);
    await hanging.idle();
    expect(await w.events()).toEqual([...before, 'Failed']);
    await w.advance(DAY_MS);
    expect(w.live.sent).toHaveLength(2);
  });

  it('A message waits while all outreach is halted, and is sent when it is resumed', async () => {
    const w = await world();
    await w.desk('/outreach-halt');
    w.start();
    await w.sendRfq();
    await w.advance(HOUR_MS);
    expect(w.live.sent).toEqual([]);
    await w.desk('/outreach-resume');
    expect(w.live.sent).toHaveLength(1);
  });

  it('A message that was not sent in its time fails without an attempt', async () => {
    const w = await world();
    await w.sendRfq();
    w.time.jump(3 * DAY_MS);
    w.start();
    await w.settle();
    expect(w.live.sent).toEqual([]);
    expect(await w.events()).toEqual(['Queued', 'Failed']);
  });

  it('A message whose subject is erased is not sent', async () => {
    const w = await world();
    const { id } = await w.sendRfq();
    await w.app.service.deps.vault.destroy(contactSubjectOf(id, 1));
    w.start();
    await w.settle();
    expect(w.live.sent).toEqual([]);
    expect(await w.events()).toEqual(['Queued', 'Dispatched', 'Failed']);
  });

  it('A message is sent by one of two processes', async () => {
    const w = await world();
    for (const _ of [1, 2]) w.start();
    for (const _ of [1, 2, 3]) await w.sendRfq();
    await w.settle();
    expect(w.live.sent).toHaveLength(3);
  });
});

describe('Without a mailbox of staff', () => {
  it('An RFQ queues no message to staff without a mailbox of staff', async () => {
    const w = await world();
    w.start();
    await w.requestRfq('live', { staffMail: undefined });
    await w.settle();
    expect(w.live.sent.map(({ to }) => to)).toEqual([BUYER.email, BUYER.email]);
  });
});
