/** Runs the command line as a user does: processes, their output, and servers that are ready. */
import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { HANG_MS } from '../hang.ts';
import { ROOT } from '../source/tree.ts';
import { UNLIMITED_APP } from '../unlimited.ts';

export const COMMAND = join(ROOT, 'tributary');
/** Node's compile cache, which halves the start time; the first process that exits normally fills it. */
export const COMPILED = join(ROOT, 'node_modules/.cache/node');
/** A server runs for a whole test file. */
const LIVES_MS = 1_000_000;
export type Ended = { code: number | null; stdout: string; stderr: string };

/** As the launcher starts it, which examines this Node first: a tenth of the time of a short command. */
const LAUNCHED = ['--disable-sigusr1', '--v8-pool-size=0', join(ROOT, 'src/cli.ts')];

/** `set`: settings as NAME=value. */
export const start = (args: readonly string[], set: readonly string[] = []): ChildProcess =>
  spawn(process.execPath, [...LAUNCHED, ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      NODE_COMPILE_CACHE: COMPILED,
      ...env,
      ...Object.fromEntries(set.map((setting) => setting.split(/=(.*)/s, 2) as [string, string])),
    },
  });

export const ended = (child: ChildProcess, withinMs = HANG_MS): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const output = { stdout: '', stderr: '' };
    child.stdout?.on('data', (chunk) => (output.stdout += String(chunk)));
    child.stderr?.on('data', (chunk) => (output.stderr += String(chunk)));
    const late = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`did not end: ${output.stdout}${output.stderr}`));
    }, withinMs);
    child.once('close', (code) => {
      clearTimeout(late);
      resolve({ code, ...output });
    });
  });

export const run = (...args: string[]): Promise<Ended> => ended(start(args));

/** Runs a command, which must succeed, and returns the object on its last line. */
export const json = async <T = Record<string, unknown>>(...args: string[]): Promise<T> => {
  const { code, stdout, stderr } = await run(...args, '--json');
  expect(code, stderr).toBe(0);
  return lastLine(stdout) as T;
};

type Ready = {
  url: string;
  port: number;
  pid: number;
  data: string;
  owner: string;
  agent: string;
  api_key: string;
  /** Null at a start that found one. */
  desk_token: string | null;
  review_url: string;
};

/** Starts a server; resolves when it has printed its first line. */
export const serve = async (data: string, ...args: string[]) => {
  const all = ['serve', '--data', data, '--port', '0', '--json', ...args];
  const child = start(all, [`ADMISSION_WAIT_MS=${UNLIMITED_APP.ADMISSION_WAIT_MS}`]);
  const end = ended(child, LIVES_MS);
  const line = await new Promise<string>((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (chunk) => {
      text += String(chunk);
      if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')));
    });
    void end.then(
      ({ stderr }) => reject(new Error(`ended before it was ready: ${stderr}`)),
      reject,
    );
  });
  const ready = JSON.parse(line) as Ready;
  return {
    ready,
    async stop(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL' = 'SIGTERM'): Promise<Ended> {
      process.kill(ready.pid, signal);
      return end;
    },
  };
};

export type Server = Awaited<ReturnType<typeof serve>>;

export const connection = async (url: string, key: string): Promise<number> =>
  (
    await fetch(`${url}/api/affiliate/v1/connection`, {
      headers: { authorization: `Bearer ${key}` },
    })
  ).status;

const POLL_MS = 20;

/** Polls until the check returns true; returns false after `withinMs`, which only ends a hang. */
export const until = async (
  check: () => boolean | Promise<boolean>,
  withinMs = HANG_MS,
): Promise<boolean> => {
  const began = performance.now();
  while (performance.now() - began < withinMs) {
    if (await check()) return true;
    await pause(POLL_MS);
  }
  return false;
};

/**
 * Sends a request until its answer is not 503, as clients do. A busy machine delays read models and the confirmation of
 * credentials for longer than a request waits. A write needs the same idempotency key each time.
 */
export const untilServed = async <Answer extends { status: number }>(
  send: () => Promise<Answer>,
): Promise<Answer> => {
  let answer = await send();
  await until(async () => answer.status !== 503 || (answer = await send()).status !== 503);
  return answer;
};

/** Returns the object on the last line. */
export const lastLine = (stdout: string): unknown =>
  JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');

/** Kills servers that still run; for afterAll. */
export const killAll = (servers: readonly Server[]): void => {
  for (const { ready } of servers) {
    try {
      process.kill(ready.pid, 'SIGKILL');
    } catch {
      // It has ended already.
    }
  }
};

export const HEADER = 'id,title,price,availability\n';
export const feed = (data: string, name: string, text: string): string => {
  const file = join(data, name);
  writeFileSync(file, text);
  return file;
};
