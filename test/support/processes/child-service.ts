/** Runs `tributary serve` in a child process, as an operator does. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { COMPILED, until, untilServed } from '../clients/cli.ts';
import { ROOT } from '../source/tree.ts';
import { UNLIMITED } from '../unlimited.ts';

export type ChildService = {
  url: string;
  /** Empty if the role has no desk. */
  deskToken: string;
  /** Empty without the demo. */
  apiKey: string;
  child: ChildProcess;
  /** Everything on stderr so far. */
  log(): string;
  /** Sends the signal and waits for the exit; returns exit code and signal. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<{ code: number | null; signal: string | null }>;
};

const running = new Set<ChildProcess>();

/** Kills processes that a failed test left running; for afterAll. */
export const endChildren = async (): Promise<void> => {
  const ends = [...running].map((child) => once(child, 'exit'));
  for (const child of running) child.kill('SIGKILL');
  await Promise.all(ends);
};

/** Runs `tributary` with these arguments and settings; `root` is the checkout whose code runs. */
export const runCli = (
  args: readonly string[],
  settings: Record<string, string> = {},
  root = ROOT,
): ChildProcess => {
  const child = spawn(process.execPath, [join(root, 'src/cli.ts'), ...args], {
    cwd: root,
    env: {
      PATH: '/usr/bin:/bin',
      NODE_COMPILE_CACHE: COMPILED,
      XDG_CONFIG_HOME: '/nonexistent',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
};

export const serveChild = async (
  directory: string,
  settings: Record<string, string> = {},
  more: readonly string[] = [],
): Promise<ChildService> => serveFrom(ROOT, directory, { settings, more });

/** Serves with the code of the checkout at `root`, which may be of another version. */
export const serveFrom = async (
  root: string,
  directory: string,
  {
    settings = {},
    more = [],
  }: { settings?: Record<string, string>; more?: readonly string[] } = {},
): Promise<ChildService> => {
  const args = ['serve', '--port', '0', '--json', '--data', directory, ...more];
  const child = runCli(args, { ...UNLIMITED, ...settings }, root);
  let log = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    log += chunk.toString();
  });
  const ended = once(child, 'exit');
  const { stdout } = child;
  if (!stdout) throw new Error('the child has no stdout');
  const lines = createInterface({ input: stdout });
  const ready = once(lines, 'line');
  const first = await Promise.race([ready, ended.then(() => undefined)]);
  if (first === undefined) throw new Error(`the service did not start:\n${log}`);
  const line = JSON.parse(String(first[0])) as {
    url?: string;
    api_key?: string;
  };
  // A failed start prints its error on the same line.
  if (line.url === undefined) {
    await ended;
    throw new Error(`the service did not start:\n${String(first[0])}\n${log}`);
  }
  const tokenFile = join(directory, 'desk.token');
  return {
    url: line.url,
    deskToken: existsSync(tokenFile) ? readFileSync(tokenFile, 'utf8').trim() : '',
    apiKey: line.api_key ?? '',
    child,
    log: () => log,
    async end(signal) {
      child.kill(signal);
      const [code, by] = (await ended) as [number | null, string | null];
      return { code, signal: by };
    },
  };
};

let keys = 0;

/** Sends a command to the desk of a running service, as often as `untilServed`. */
export const atDesk = async (
  { url, deskToken }: Pick<ChildService, 'url' | 'deskToken'>,
  path: string,
  body: object,
): Promise<Record<string, string>> => {
  const request = {
    method: 'POST',
    headers: {
      authorization: `Bearer ${deskToken}`,
      'content-type': 'application/json',
      'idempotency-key': `desk-${(keys += 1)}-${path}`,
    },
    body: JSON.stringify(body),
  };
  const response = await untilServed(() => fetch(`${url}/api/desk/v1${path}`, request));
  const answer = (await response.json()) as Record<string, string>;
  if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`);
  return answer;
};

/** Creates an approved agent that may write, and returns its key, which the service and `others` know. */
export const agentKey = async (
  service: Pick<ChildService, 'url' | 'deskToken'>,
  owner = 'acme',
  others: readonly Pick<ChildService, 'url'>[] = [],
): Promise<string> => {
  const scopes = [
    'products:read',
    'links:write',
    'handoffs:write',
    'leads:write',
    'leads:read',
    'performance:read',
  ];
  const agent = await atDesk(service, '/access-grants', {
    owner_id: owner,
    name: 'A',
    purpose: 'Tests',
    scopes,
    reason: 'Known',
  });
  const issued = await atDesk(service, `/agents/${agent['id']}/keys`, {});
  for (const { url } of [service, ...others])
    await until(async () => {
      const health = (await (await fetch(`${url}/readyz`)).json()) as { events_behind: unknown };
      return health.events_behind === 0;
    });
  return issued['api_key'] ?? '';
};
