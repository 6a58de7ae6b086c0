/** What tests of dispatchers share: a channel whose answers the test decides, and the dispatchers that it starts. */
import type { Dispatcher } from '#src/sending/dispatcher.ts';
import type { Channel, DeliveryResult } from '#src/ports/delivery.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { HANG_MS } from '../hang.ts';
import { waits } from './manual-time.ts';

type Play<Sent> = (delivery: Sent, signal: AbortSignal) => DeliveryResult | Promise<DeliveryResult>;

/** A channel that answers as the test says, `delivered` with this evidence until then. */
export const playedChannel = <Sent>(evidence: string) => {
  const sent: Sent[] = [];
  const sendings = waits();
  let play: Play<Sent> = () => ({ outcome: 'delivered', evidence });
  const channel: Channel<Sent> = {
    limitMs: 20_000,
    async deliver(delivery, signal) {
      sent.push(delivery);
      sendings.look();
      return play(delivery, signal);
    },
  };
  return {
    channel,
    sent,
    play: (next: Play<Sent>) => {
      play = next;
    },
    /** Resolves when this number of deliveries has begun. */
    sending: (count: number) => sendings.until(() => sent.length >= count),
  };
};

/** The dispatchers that a test starts over one log. */
export const runningOver = ({ log, following }: Pick<Deps, 'log' | 'following'>) => {
  const running: Dispatcher[] = [];
  return {
    start(one: Dispatcher): Dispatcher {
      running.push(one);
      one.start();
      return one;
    },
    /** Resolves when all events are folded and nothing is in progress. */
    async settle(): Promise<void> {
      for (const one of running) await one.idle();
      await following.passed((await log.head()).position, HANG_MS);
      for (const one of running) await one.idle();
    },
    async stop(): Promise<void> {
      await Promise.all(running.map((one) => one.stop()));
    },
  };
};
