/** A service whose push notifications go to a channel of the test, with time that the test advances. */
import type { PushDelivery, DeliveryResult } from '#src/ports/delivery.ts';
import { Dispatcher } from '#src/app/dispatch/dispatcher.ts';
import { push } from '#src/domain/push.ts';
import { stateOf } from '#src/app/events/fold.ts';
import type { PushSendingDeps } from '#src/app/push/dispatch-push.ts';
import { pushWork } from '#src/app/push/dispatching.ts';
import { KEYS_PATH } from '#src/interfaces/a2a/card.ts';
import { pushBody } from '#src/interfaces/a2a/wire.ts';
import { a2aApp, rpc, type WireTask } from '../clients/a2a.ts';
import { manualTime, waits } from './manual-time.ts';
import { HANG_MS } from '../hang.ts';

type Play = (
  delivery: PushDelivery,
  signal: AbortSignal,
) => DeliveryResult | Promise<DeliveryResult>;
type Config = { taskId: string; id: string; url: string };

export const HOOK = 'https://hook.example/in';

/** Opens a service with outreach, without a dispatcher yet. */
export const notifying = async () => {
  const app = await a2aApp({ EVENT_LOG_URL: 'memory:', READ_MODEL_URL: 'memory:' });
  const { deps: served } = app.service;
  const time = manualTime(app.clock);
  const sent: PushDelivery[] = [];
  const faults: unknown[] = [];
  const sendings = waits();
  let play: Play = () => ({ outcome: 'delivered', evidence: 'http_204' });
  const deps: PushSendingDeps = {
    ...served,
    schedule: time.schedule,
    onFault: (error) => faults.push(error),
    receivers: {
      limitMs: 20_000,
      async deliver(delivery, signal) {
        sent.push(delivery);
        sendings.look();
        return play(delivery, signal);
      },
    },
    wire: { bodyOf: pushBody, keysUrl: () => served.origin() + KEYS_PATH },
  };
  const running: Dispatcher[] = [];
  const settle = async (): Promise<void> => {
    for (const one of running) await one.idle();
    await served.following.passed((await served.log.head()).position, HANG_MS);
    for (const one of running) await one.idle();
  };
  const eventsOf = async (): Promise<string[]> => {
    const events = await served.log.readAll({ after: 0, limit: 10_000 });
    return events.map(({ type }) => type).filter((type) => type.startsWith('Push'));
  };
  return {
    app,
    deps,
    time,
    sent,
    faults,
    settle,
    eventsOf,
    play: (next: Play) => {
      play = next;
    },
    sending: (count: number) => sendings.until(() => sent.length >= count),
    start(over: Partial<PushSendingDeps> = {}): Dispatcher {
      const own = { ...deps, ...over };
      const one = new Dispatcher(own, pushWork(own));
      running.push(one);
      one.start();
      return one;
    },
    advance: (ms: number) => time.advance(ms, settle),
    /** Registers HOOK for a task. Throws on an error. */
    async register(key: string, { id: taskId }: WireTask, over: object = {}): Promise<Config> {
      const params = { taskId, url: HOOK, ...over };
      const method = 'CreateTaskPushNotificationConfig';
      const { result, error } = await rpc<Config>(app, key, method, params);
      if (error) throw new Error(JSON.stringify(error));
      await settle();
      return result;
    },
    /** The tasks that were sent, as their receiver reads them. */
    tasks: (): WireTask[] => sent.map(({ body }) => (JSON.parse(body) as { task: WireTask }).task),
    /** The newest state of a configuration, by its id in a notification. */
    async state(pushId: string, owner = 'acme') {
      const stream = `${owner}-push_${pushId.slice(4, 28)}`;
      return stateOf(served, { stream, decider: push });
    },
    async end() {
      await Promise.all(running.map((one) => one.stop()));
      await app.close();
    },
  };
};
