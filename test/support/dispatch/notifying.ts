/** A service whose push notifications go to a channel of the test, with time that the test advances. */
import type { PushDelivery } from '#src/ports/delivery.ts';
import { Dispatcher } from '#src/sending/dispatcher.ts';
import { push } from '#src/tasks/push.decider.ts';
import { stateOf } from '#src/writing/streams.ts';
import { type PushSendingDeps, pushWork } from '#src/tasks/push.ts';
import { KEYS_PATH } from '#src/interfaces/a2a/card.ts';
import { pushBody } from '#src/interfaces/a2a/wire.ts';
import { a2aApp, rpc, type WireTask } from '../clients/a2a.ts';
import { manualTime } from './manual-time.ts';
import { playedChannel, runningOver } from './playing.ts';

type Config = { taskId: string; id: string; url: string };

export const HOOK = 'https://hook.example/in';

/** Opens a service with outreach, without a dispatcher yet. */
export const notifying = async () => {
  const app = await a2aApp();
  const { deps: served } = app.service;
  const time = manualTime(app.clock);
  const { channel, sent, play, sending } = playedChannel<PushDelivery>('http_204');
  const { start, settle, stop } = runningOver(served);
  const faults: unknown[] = [];
  const deps: PushSendingDeps = {
    ...served,
    schedule: time.schedule,
    onFault: (error) => faults.push(error),
    receivers: channel,
    wire: { bodyOf: pushBody, keysUrl: () => served.origin() + KEYS_PATH },
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
    play,
    sending,
    start(over: Partial<PushSendingDeps> = {}): Dispatcher {
      const own = { ...deps, ...over };
      return start(new Dispatcher(own, pushWork(own)));
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
      await stop();
      await app.close();
    },
  };
};
