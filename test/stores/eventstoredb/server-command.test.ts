/** EVENTSTOREDB_TEST_COMMAND: signals reach the server also where a shell stays in front of it. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { afterAll, afterEach, expect, test } from 'vitest';
import { endRealServers, realServer } from '../../support/eventstoredb/eventstoredb-command.ts';
import { directories } from '../../support/processes/directories.ts';

const temporary = directories('eventstoredb-command-');
afterEach(endRealServers);
afterAll(temporary.removeAll);

/** Answers as a healthy server does, and records its process id and a normal stop. */
const SERVER = `
  const { writeFileSync } = require('node:fs');
  const [port, directory] = process.argv.slice(2);
  writeFileSync(directory + '/pid', String(process.pid));
  process.on('SIGTERM', () => { writeFileSync(directory + '/stopped', ''); process.exit(); });
  require('node:http').createServer((_, answer) => answer.writeHead(204).end()).listen(port);`;

const stateOf = (pid: string): string => {
  try {
    return (readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1] ?? '').slice(0, 1);
  } catch {
    return 'gone';
  }
};
// A process closes its files, on which `kill` and `stop` wait, before Linux shows it as ended.
const ends = async (pid: string): Promise<void> => {
  await expect.poll(() => stateOf(pid)).toMatch(/^(gone|Z|X)$/);
};

test.each([
  ['without exec', ''],
  ['with exec', 'exec '],
  ['after another command', 'true && '],
])(
  'A server that is started %s is killed, stopped, paused and started again',
  async (_, before) => {
    const directory = temporary.fresh();
    const script = join(directory, 'server.cjs');
    writeFileSync(script, SERVER);
    const server = await realServer(`${before}${execPath} ${script} {port} {directory}`, directory);
    const pid = (): string => readFileSync(join(directory, 'pid'), 'utf8');
    server.freeze();
    await expect.poll(() => stateOf(pid())).toBe('T');
    server.thaw();
    await expect.poll(() => stateOf(pid())).not.toBe('T');
    await server.kill();
    await ends(pid());
    expect(existsSync(join(directory, 'stopped'))).toBe(false);
    const killed = pid();
    await server.restart();
    expect(pid()).not.toBe(killed);
    await server.stop();
    await ends(pid());
    expect(existsSync(join(directory, 'stopped'))).toBe(true);
  },
);
