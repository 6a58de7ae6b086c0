/**
 * Writes an upgrade fixture with the code of another checkout:
 *
 *   node infra/scripts/write-upgrade-fixtures.ts CHECKOUT
 *
 * CHECKOUT is a work tree of the commit whose stores later versions must open, with its packages
 * installed. Needs git, tar and redis-server. See test/golden/upgrade/README.md.
 */
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { argv } from 'node:process';
import { listStoredMail } from '#src/delivery/mail.ts';
import { systemClock } from '#src/system/ids.ts';
import { DAY_MS } from '#src/shared/time.ts';
import { until } from '../../test/support/clients/cli.ts';
import { directories } from '../../test/support/processes/directories.ts';
import {
  type ChildService,
  endChildren,
  serveFrom,
} from '../../test/support/processes/child-service.ts';
import { endMailServers } from '../../test/support/dispatch/mail-server.ts';
import { endStandIns, standIn } from '../../test/support/eventstoredb/start.ts';
import { endRedis, startRedis } from '../../test/support/redis/redis-server.ts';
import { openIdWorld } from '../../test/support/world/openid-provider.ts';
import { endReceivers } from '../../test/support/world/receivers.ts';
import {
  packDirectory,
  packLog,
  packRedis,
  type Store,
  writeRecording,
} from '../../test/e2e/upgrade/archive.ts';
import { overHttp } from '../../test/e2e/upgrade/exchange.ts';
import { keep } from '../../test/e2e/upgrade/kept.ts';
import { acceptClock, actAhead, playPast } from '../../test/e2e/upgrade/past.ts';
import { startHook, startMailServer } from '../../test/e2e/upgrade/receivers.ts';
import { Recorder } from '../../test/e2e/upgrade/recorder.ts';
import {
  folded,
  happened,
  PUBLIC_URL,
  reached,
  ROOT_KEY,
  summed,
} from '../../test/e2e/upgrade/services.ts';
import { playStory, readStory, VISITS_PER_MINUTE } from '../../test/e2e/upgrade/story.ts';
import type { World } from '../../test/e2e/upgrade/world.ts';

/** How long before the story its past is, which is longer than an RFQ can wait for its confirmation. */
const PAST_DAYS = 20;
const temporary = directories('tributary-upgrade-');

const commitOf = (checkout: string): string => {
  const asked = ['-C', checkout, 'rev-parse', '--short=7', 'HEAD'];
  const { status, stdout, stderr } = spawnSync('git', asked, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${checkout} is not a work tree: ${stderr}`);
  return stdout.trim();
};

/** Waits for links in the mail of a directory. */
const mailIn =
  (directory: string): World['mailedLink'] =>
  async (page, to, count = 1) => {
    const link = new RegExp(`/${page}/[0-9a-f.]{40,}`);
    let paths: string[] = [];
    const isMailed = async (): Promise<boolean> => {
      const mails = await listStoredMail(directory);
      const own = mails.filter((mail) => to === undefined || mail.to === to);
      paths = own.flatMap(({ text }) => link.exec(text)?.[0] ?? []);
      return paths.length >= count;
    };
    if (!(await until(isMailed))) throw new Error(`no link to /${page} was mailed to ${to}`);
    return paths.at(-1) ?? '';
  };

type Settings = Record<string, string>;
/** A process: its data directory, and its other arguments. */
type Process = { directory: string; more?: string[] };
type Deployment = {
  processes: Process[];
  settings: Settings;
  /** Sets the clock of a log server, which compares the deadlines of appends with it. */
  setClock?(skewMs: number): Promise<void>;
};

/** Makes a process believe that it is another time. */
const clockSettings = (skewMs: number): Settings => {
  const code = `
    const Now = Date;
    globalThis.Date = class Date extends Now {
      static now() { return super.now() + ${skewMs}; }
      constructor(...of) { super(...(of.length > 0 ? of : [new.target.now()])); }
    };`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
};

/** The processes of one recording, which are started again with other clocks and settings. The first one is asked. */
class Processes {
  readonly #checkout: string;
  readonly #deployment: Deployment;
  #running: ChildService[] = [];

  constructor(checkout: string, deployment: Deployment) {
    this.#checkout = checkout;
    this.#deployment = deployment;
  }

  get asked(): ChildService {
    const [first] = this.#running;
    if (!first) throw new Error('no service was started');
    return first;
  }

  async restart({ daysAgo = 0, more = {} }: { daysAgo?: number; more?: Settings } = {}) {
    await this.end();
    const { processes, settings, setClock } = this.#deployment;
    const skewMs = -daysAgo * DAY_MS;
    await setClock?.(skewMs);
    const all = { ...settings, ...more, ...(daysAgo > 0 && clockSettings(skewMs)) };
    for (const { directory, more: args = [] } of processes)
      this.#running.push(await serveFrom(this.#checkout, directory, { settings: all, more: args }));
  }

  async end(): Promise<void> {
    for (const service of this.#running.splice(0)) await service.end('SIGTERM');
  }
}

/** The servers around the services, and the settings that lead to them. */
const startSurroundings = async () => {
  const [hook, mail, provider] = await Promise.all([
    startHook(),
    startMailServer(),
    openIdWorld(`${PUBLIC_URL}/signin/openid/callback`),
  ]);
  return {
    hook: `http://${hook}`,
    provider,
    settings: {
      ...provider.settings,
      PUBLIC_URL,
      ADDRESS_VISITS_PER_MINUTE: String(VISITS_PER_MINUTE),
      APPROVAL_ABOVE: '10000 GBP',
      STAFF_MAIL: 'staff@tributary.example',
      TRUST_PROXY: 'loopback',
      OUTREACH_PRIVATE_HOSTS: hook,
    },
    /** Of the past alone: later, mail is stored in the directory. */
    mailSettings: { MAIL_URL: mail, MAIL_FROM: 'shop@tributary.example' },
  };
};
type Surroundings = Awaited<ReturnType<typeof startSurroundings>>;

const worldOf = (
  processes: Processes,
  { hook, provider }: Surroundings,
  mailDirectory: string,
): World => ({
  hook,
  provider,
  folded: () => folded(processes.asked),
  reached: (id, status) => reached(processes.asked, id, status),
  summed: (apiKey) => summed(processes.asked, apiKey),
  happened: (...types) => happened(processes.asked, types),
  mailedLink: mailIn(mailDirectory),
});

/** Plays the past and the story, and writes what the service answered. `keepMore` is called between the story and the reads. */
const record = async (
  { commit, store }: { commit: string; store: Store },
  { processes, surroundings }: { processes: Processes; surroundings: Surroundings },
  { mail, keepMore }: { mail: string; keepMore?: (apiKey: string) => Promise<void> },
): Promise<void> => {
  const recorder = new Recorder(overHttp(() => processes.asked.url));
  const world = worldOf(processes, surroundings, mail);
  await processes.restart({ daysAgo: PAST_DAYS, more: surroundings.mailSettings });
  recorder.credentials['staff'] = processes.asked.deskToken;
  await playPast(recorder, world);
  await processes.restart({ daysAgo: PAST_DAYS - 1 });
  await actAhead(recorder);
  await processes.restart({ daysAgo: PAST_DAYS });
  await acceptClock(recorder);
  await processes.restart();
  await playStory(recorder, world);
  await keepMore?.(recorder.credentials['acme'] ?? '');
  const read = await readStory(recorder, world);
  const about = { commit, publicUrl: PUBLIC_URL, endedAt: systemClock().now() };
  writeRecording(store, recorder.finish({ ...about, ...read }));
  await processes.end();
};

const embedded = async (
  checkout: string,
  commit: string,
  surroundings: Surroundings,
): Promise<void> => {
  const directory = temporary.fresh();
  const kept = temporary.fresh();
  const { settings } = surroundings;
  const processes = new Processes(checkout, { processes: [{ directory }], settings });
  await record(
    { commit, store: 'embedded' },
    { processes, surroundings },
    {
      mail: join(directory, 'mail'),
      keepMore: (apiKey) =>
        keep(processes.asked, { apiKey, checkout, data: directory, into: kept }),
    },
  );
  packDirectory(commit, 'data', directory);
  packDirectory(commit, 'kept', kept);
};

const onServers = async (
  checkout: string,
  commit: string,
  surroundings: Surroundings,
): Promise<void> => {
  const file = join(temporary.fresh(), 'log.ndjson');
  const [log, redis] = [await standIn({ file }), await startRedis()];
  const stores = { EVENT_LOG_URL: log.url, READ_MODEL_URL: redis.url.href };
  const settings = { ...surroundings.settings, ROOT_KEY, ...stores };
  const all = ['api', 'projector', 'dispatcher'].map((role) => ({
    directory: temporary.fresh(),
    more: ['--role', role],
  }));
  const processes = new Processes(checkout, {
    processes: all,
    settings,
    setClock: (skewMs) => log.tell({ name: 'set', settings: { skewMs } }),
  });
  // The last one is that of the dispatcher, which sends mail.
  const mail = join(all.at(-1)?.directory ?? '', 'mail');
  await record({ commit, store: 'servers' }, { processes, surroundings }, { mail });
  await packRedis(commit, redis.control);
  await log.kill();
  packLog(commit, file);
};

const [given] = argv.slice(2);
if (given === undefined) throw new Error('name the checkout whose code writes the fixture');
const checkout = resolve(given);
const commit = commitOf(checkout);
const surroundings = await startSurroundings();
try {
  await embedded(checkout, commit, surroundings);
  await onServers(checkout, commit, surroundings);
} finally {
  await endChildren();
  await Promise.all([endStandIns(), endRedis(), endReceivers(), endMailServers()]);
  await surroundings.provider.stop();
  temporary.removeAll();
}
