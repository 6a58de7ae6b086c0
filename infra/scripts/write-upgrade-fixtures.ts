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
import { until } from '../../test/support/clients/cli.ts';
import { directories } from '../../test/support/processes/directories.ts';
import {
  type ChildService,
  endChildren,
  serveFrom,
} from '../../test/support/processes/child-service.ts';
import { endStandIns, standIn } from '../../test/support/eventstoredb/start.ts';
import { endRedis, startRedis } from '../../test/support/redis/redis-server.ts';
import {
  packDirectory,
  packLog,
  packRedis,
  type Store,
  writeRecording,
} from '../../test/e2e/upgrade/archive.ts';
import { overHttp } from '../../test/e2e/upgrade/exchange.ts';
import { Recorder } from '../../test/e2e/upgrade/recorder.ts';
import { folded, PUBLIC_URL, ROOT_KEY, sent, summed } from '../../test/e2e/upgrade/services.ts';
import { playStory, VISITS_PER_MINUTE } from '../../test/e2e/upgrade/story.ts';

const SETTINGS = {
  PUBLIC_URL,
  ADDRESS_VISITS_PER_MINUTE: String(VISITS_PER_MINUTE),
  APPROVAL_ABOVE: '10000 GBP',
  STAFF_MAIL: 'staff@tributary.example',
};
const temporary = directories('tributary-upgrade-');

const commitOf = (checkout: string): string => {
  const asked = ['-C', checkout, 'rev-parse', '--short=7', 'HEAD'];
  const { status, stdout, stderr } = spawnSync('git', asked, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${checkout} is not a work tree: ${stderr}`);
  return stdout.trim();
};

/** The paths of the links in the mail of a directory that begin so, once there is one. */
const linksIn = async (directory: string, page: string): Promise<string[]> => {
  const link = new RegExp(`/${page}/[0-9a-f.]{40,}`);
  const paths: string[] = [];
  const isMailed = async (): Promise<boolean> => {
    const mails = await listStoredMail(directory);
    paths.push(...mails.flatMap(({ text }) => link.exec(text)?.[0] ?? []));
    return paths.length > 0;
  };
  if (!(await until(isMailed))) throw new Error(`no link to /${page} was mailed to ${directory}`);
  return paths;
};

/** Plays the story on a service and writes what it answered. */
const record = async (
  commit: string,
  store: Store,
  { service, mail }: { service: ChildService; mail: string },
): Promise<void> => {
  const recorder = new Recorder(overHttp(service.url), service.deskToken);
  const settled = async (): Promise<void> => {
    await sent(service, recorder.ids['sent request'] ?? '');
    await summed(service, recorder.credentials['acme'] ?? '');
    await folded(service);
  };
  const played = await playStory(recorder, settled, (page) => linksIn(mail, page));
  const about = { commit, publicUrl: PUBLIC_URL, endedAt: systemClock().now() };
  writeRecording(store, recorder.finish({ ...about, ...played }));
};

const embedded = async (checkout: string, commit: string): Promise<void> => {
  const directory = temporary.fresh();
  const service = await serveFrom(checkout, directory, { settings: SETTINGS });
  await record(commit, 'embedded', { service, mail: join(directory, 'mail') });
  await service.end('SIGTERM');
  packDirectory(commit, directory);
};

const onServers = async (checkout: string, commit: string): Promise<void> => {
  const file = join(temporary.fresh(), 'log.ndjson');
  const [log, redis] = [await standIn({ file }), await startRedis()];
  const stores = { EVENT_LOG_URL: log.url, READ_MODEL_URL: redis.url.href };
  const settings = { ...SETTINGS, ROOT_KEY, ...stores };
  const services: ChildService[] = [];
  let directory = '';
  for (const role of ['api', 'projector', 'dispatcher']) {
    // The last one is that of the dispatcher, which sends mail.
    directory = temporary.fresh();
    services.push(await serveFrom(checkout, directory, { settings, more: ['--role', role] }));
  }
  const [api] = services;
  if (!api) throw new Error('no service was started');
  await record(commit, 'servers', { service: api, mail: join(directory, 'mail') });
  for (const service of services) await service.end('SIGTERM');
  await packRedis(commit, redis.control);
  await log.kill();
  packLog(commit, file);
};

const [given] = argv.slice(2);
if (given === undefined) throw new Error('name the checkout whose code writes the fixture');
const checkout = resolve(given);
const commit = commitOf(checkout);
try {
  await embedded(checkout, commit);
  await onServers(checkout, commit);
} finally {
  await endChildren();
  await Promise.all([endStandIns(), endRedis()]);
  temporary.removeAll();
}
