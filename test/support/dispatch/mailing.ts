/** A service whose mail goes to channels of the test, with time that the test advances. */
import { limiter } from '#src/calls/limits.ts';
import { Dispatcher } from '#src/sending/dispatcher.ts';
import { type MailSendingDeps, mailWork } from '#src/sending/dispatch-mail.ts';
import { renderDelivery, renderLetter } from '#src/interfaces/letters.ts';
import { outreachWork, type SendingDeps } from '#src/outreach/send-outbound.ts';
import type { Delivery, MailDelivery } from '#src/ports/delivery.ts';
import { freshKey } from '../world/app.ts';
import { rfqWorld, STAFF_MAIL } from './rfqs.ts';
import { manualTime } from './manual-time.ts';
import { playedChannel, runningOver } from './playing.ts';

/** Opens a service with a mailbox of staff, without a dispatcher yet. */
export const mailing = async () => {
  const world = await rfqWorld({ STAFF_MAIL });
  const { app } = world;
  const { deps: served } = app.service;
  const time = manualTime(app.clock);
  const live = playedChannel<MailDelivery>('smtp_250');
  const test = playedChannel<MailDelivery>('mal_1.eml');
  const { start, settle, stop } = runningOver(served);
  const faults: unknown[] = [];
  const deps: MailSendingDeps = {
    ...served,
    schedule: time.schedule,
    onFault: (error) => faults.push(error),
    hourly: limiter({ count: 500, per: 'hour' }, app.clock.monotonic),
    mailers: { live: live.channel, test: test.channel },
    render: (kind, facts) =>
      renderLetter(kind, facts, { origin: served.origin(), house: served.house }),
  };
  return {
    ...world,
    time,
    live,
    test,
    faults,
    settle,
    advance: (ms: number) => time.advance(ms, settle),
    start: (over: Partial<MailSendingDeps> = {}) => {
      const own = { ...deps, ...over };
      return start(new Dispatcher(own, mailWork(own)));
    },
    /** Starts what sends deliveries of review links, with the same mail servers. */
    startDeliveries: (over: Partial<SendingDeps> = {}) => {
      const { channel } = playedChannel<Delivery>('seen');
      const own: SendingDeps = {
        ...deps,
        channels: { file: channel, webhook: channel, a2a: channel },
        renderDelivery,
        ...over,
      };
      return start(new Dispatcher(own, outreachWork(own)));
    },
    /** The events of messages, in log order, without their prefix. */
    async events(): Promise<string[]> {
      const events = await served.log.readAll({ after: 0, limit: 10_000 });
      return events.flatMap(({ type }) => (/^Mail[A-Z]/.test(type) ? type.slice(4) : []));
    },
    async desk(path: string) {
      const answer = await app.desk('POST', path, { reason: freshKey() });
      if (answer.status !== 200) throw new Error(answer.text);
      await settle();
    },
    async end() {
      await stop();
      await app.close();
    },
  };
};
