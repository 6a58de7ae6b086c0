/** A dispatcher over a log in memory, with a clock and channels that tests control. */
import { leads } from '#projections/leads.ts';
import { openOutbound, outboundRequests } from '#projections/outreach.ts';
import { localReadModels, runProjections } from '#projections/engine/engine.ts';
import type { Projection } from '#projections/projection.ts';
import { memoryEventLog } from '../memory-event-log.ts';
import { memoryStore } from '../memory-read-model.ts';
import { sqliteKeyVault } from '#src/stores/sqlite/keys/key-vault.ts';
import { systemIds } from '#src/system/ids.ts';
import { freshKeyring } from '#src/system/keyring.ts';
import { secretsOf } from '#src/system/secrets.ts';
import { Dispatcher } from '#src/sending/dispatcher.ts';
import { limiter } from '#src/calls/limits.ts';
import { outreachWork, type SendingDeps } from '#src/outreach/send-outbound.ts';
import type { OutreachChannel, OutreachCommand } from '#src/sending/settings.decider.ts';
import { renderDelivery } from '#src/interfaces/letters.ts';
import type { Delivery, MailDelivery } from '#src/ports/delivery.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import { manualTime } from './manual-time.ts';
import { playedChannel, runningOver } from './playing.ts';
import {
  outreachActs,
  type Schedule,
  type Via,
  promptStreamQueue,
} from '../world/outreach-acts.ts';

const PROJECTIONS: Projection[] = [openOutbound, outboundRequests, leads];

/** Opens a log, its read models, and the dispatchers that a test starts. */
export const dispatching = async (log: EventLog = memoryEventLog()) => {
  const time = manualTime();
  const ids = systemIds(time.clock.now);
  const secrets = secretsOf(freshKeyring());
  const store = memoryStore();
  const stopping = new AbortController();
  const { signal } = stopping;
  const engine = await runProjections({ log, store, projections: PROJECTIONS, signal });
  const faults: unknown[] = [];
  const { channel, sent, play, sending } = playedChannel<Delivery>('seen');
  const mailer = playedChannel<MailDelivery>('smtp_250');
  const { start, settle, stop } = runningOver({ log, following: engine });
  const deps: SendingDeps = {
    log,
    ids,
    streamQueue: promptStreamQueue(),
    clock: time.clock,
    readModels: localReadModels(store, PROJECTIONS, engine),
    secrets,
    vault: sqliteKeyVault(':memory:', [Buffer.alloc(32, 1)]),
    following: engine,
    schedule: time.schedule,
    channels: { file: channel, webhook: channel, a2a: channel },
    mailers: { live: mailer.channel, test: mailer.channel },
    hourly: limiter({ count: 500, per: 'hour' }, time.clock.monotonic),
    renderDelivery,
    onFault: (error) => faults.push(error),
  };
  const acts = outreachActs({ log, ids, now: time.clock.now });

  return {
    ...acts,
    log,
    deps,
    sent,
    faults,
    time,
    secrets,
    settle,
    play,
    sending,
    start(over: Partial<SendingDeps> = {}) {
      const own = { ...deps, ...over };
      return start(new Dispatcher(own, outreachWork(own)));
    },
    advance: (ms: number) => time.advance(ms, settle),
    async settings(owner: string, command: OutreachCommand) {
      await acts.settings(owner, command);
      await settle();
    },
    async configure(owner: string, to: OutreachChannel) {
      await acts.configure(owner, to);
      await settle();
    },
    /** Proposes and approves a request, and waits until it is dispatched if it is due. */
    async approved(owner: string, via: Via, schedule: Schedule = {}) {
      const id = await acts.propose(owner, via, schedule);
      await acts.approve(owner, id);
      await settle();
      return id;
    },
    async end() {
      await stop();
      stopping.abort();
      await engine.done;
      await log.close();
    },
  };
};
