/** A PostgreSQL server of this machine in a temporary directory, reached by its Unix socket. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, globSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { env, getuid } from 'node:process';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { directories } from '../../support/processes/directories.ts';

/** `pid` is the process whose children are the backends. */
export type Postgres = { directory: string; pid: number };

export const USER = 'bench';

/** Distributions keep the programs of each version in a folder that is not in PATH. */
const programs = [
  ...(env['PATH'] ?? '').split(delimiter),
  ...globSync('/usr/lib/postgresql/*/bin').sort().reverse(),
].find((folder) => ['initdb', 'postgres'].every((name) => existsSync(join(folder, name))));

export const hasPostgres = programs !== undefined;

const NOBODY = { uid: 65_534, gid: 65_534 };
/** postgres refuses to run as root. */
const account = getuid?.() === 0 ? NOBODY : undefined;

/** Durable commits, as by default. CPU time can be read of processes that still run: no workers for a query, no autovacuum. */
const SETTINGS = [
  'listen_addresses=',
  'shared_buffers=512MB',
  'max_parallel_workers_per_gather=0',
  'autovacuum=off',
];

const temporary = directories('tributary-postgres-');
const running = new Set<ChildProcess>();

export const startPostgres = async (): Promise<Postgres> => {
  const directory = temporary.fresh();
  if (account) chownSync(directory, account.uid, account.gid);
  const data = join(directory, 'data');
  const options = { cwd: directory, ...account };
  const program = (name: string): string => join(programs ?? '', name);
  const made = ['-D', data, `--username=${USER}`, '--auth=trust', '--encoding=UTF8', '--locale=C'];
  await promisify(execFile)(program('initdb'), made, options);
  const settings = SETTINGS.flatMap((setting) => ['-c', setting]);
  const server = spawn(program('postgres'), ['-D', data, '-k', directory, ...settings], {
    ...options,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  running.add(server);
  server.once('exit', () => running.delete(server));
  let output = '';
  for await (const line of createInterface({ input: server.stderr })) {
    output += `${line}\n`;
    if (line.includes('ready to accept connections')) break;
  }
  server.stderr.resume();
  if (!running.has(server) || server.pid === undefined)
    throw new Error(`postgres ended:\n${output}`);
  return { directory, pid: server.pid };
};

/** Ends every server at once, and removes its directory. */
export const endPostgres = async (): Promise<void> => {
  const ends = [...running].map((server) => once(server, 'exit'));
  for (const server of running) server.kill('SIGQUIT');
  await Promise.all(ends);
  temporary.removeAll();
};

/** Returns the microseconds of CPU of the server and of its processes that still run. */
export const postgresCpuUs = ({ pid }: Postgres): number => {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  return [pid, ...children].reduce<number>((sum, process) => {
    const [ranNs] = readFileSync(`/proc/${process}/schedstat`, 'utf8').split(' ');
    return sum + Number(ranNs) / 1_000;
  }, 0);
};
