/** Commands that end something for good: what they show, and the yes that they need, on a terminal and without one. */
import { spawn } from 'node:child_process';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { deskOperations } from '#contracts/registries/desk.ts';
import type { DeskOperation } from '#contracts/operation.ts';
import { mayAsk } from '#src/cli/effects.ts';
import { commandFieldsOf, commandWordsOf } from '#src/cli/verbs.ts';
import {
  COMMAND,
  type Ended,
  ended,
  feed,
  HEADER,
  killAll,
  serve,
  type Server,
} from '../../support/clients/cli.ts';
import { jsonHere, runHere } from '../../support/clients/cli-here.ts';
import { directories } from '../../support/processes/directories.ts';

const directory = directories('tributary-cli-effects-');
let data: string;
let server: Server;
let agent: string;
let keyId: string;
beforeAll(async () => {
  data = directory.fresh();
  server = await serve(data, '--demo');
  const about = ['--owner', 'acme', '--name', 'Tester', '--purpose', 'A test'];
  ({ id: agent } = await jsonHere<{ id: string }>(
    ...'access grant'.split(' '),
    ...about,
    '--scopes',
    'links:write',
    '--reason',
    'A test',
    ...at(),
  ));
  ({ id: keyId } = await jsonHere<{ id: string }>('key', 'issue', agent, ...at()));
});
afterAll(() => {
  killAll([server]);
  directory.removeAll();
});

const at = (): string[] => ['--data', data];
const operations = Object.values(deskOperations) as DeskOperation[];
const destructive = operations.filter((one) => one.destructive === true);

/** The command line of an operation's first example. */
const lineOf = (operation: DeskOperation): string[] => {
  const input = operation.examples[0]?.input as Record<string, unknown>;
  const words = commandFieldsOf(operation).flatMap(({ name, word, isArgument }) => {
    // Without an owner it would be for all of them, which is what asks.
    if (input[name] === undefined || (operation.id === 'haltOutreach' && name === 'owner_id'))
      return [];
    const text = [input[name]].flat().map(String).join(',');
    return isArgument ? [text] : [word, text];
  });
  return [...commandWordsOf(operation).split(' '), ...words];
};

/** Runs a command on a terminal, and types a line. */
const onTerminal = (typed: string, ...args: string[]): Promise<Ended> => {
  const quoted = [COMMAND, ...args].map((one) => `'${one}'`).join(' ');
  const child = spawn('script', ['--quiet', '--return', '--command', quoted, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.end(`${typed}\n`);
  return ended(child);
};

const revoke = (...more: string[]): string[] => [
  'key',
  'revoke',
  keyId,
  '--reason',
  'A test',
  ...more,
  ...at(),
];
/** Reads over HTTP, because a command is a process. */
const read = async (path: string): Promise<string> => {
  const headers = { authorization: `Bearer ${server.ready.desk_token}` };
  const answer = await fetch(server.ready.url + path, { headers });
  expect(answer.status, path).toBe(200);
  return answer.text();
};

const statusOfKey = async (id: string): Promise<unknown> =>
  (JSON.parse(await read(`/api/desk/v1/keys/${id}`)) as { status: string }).status;

/** How often the server has answered an operation of the desk, a refusal included. */
const callsOf = async (id: string): Promise<number> => {
  const counts = (await read('/metrics')).matchAll(
    new RegExp(`^tributary_requests_total\\{surface="desk",operation="${id}",.*\\} (\\d+)$`, 'gm'),
  );
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
};

it('Every desk operation that is destructive has a command that says what it ends', () => {
  expect(destructive.length).toBeGreaterThan(12);
  for (const { id } of destructive) expect(mayAsk(id), id).toBe(true);
});

it.each(destructive.map((one) => [commandWordsOf(one), one] as const))(
  'The command %s without a terminal and without --yes does nothing and says what it would end',
  async (words, operation) => {
    const before = await callsOf(operation.id);
    const { code, stdout, stderr } = await runHere(...lineOf(operation), ...at());
    expect({ code, stdout }, stderr).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('Nothing was done. Repeat the command with --yes to do it.');
    expect(await callsOf(operation.id), words).toBe(before);
  },
);

it('The suspension of an agent names the agent and its keys', async () => {
  const { code, stderr } = await runHere('access', 'suspend', agent, '--reason', 'A test', ...at());
  expect(code).toBe(2);
  expect(stderr).toContain(
    `Agent Tester (${agent}, approved) of acme stops working within a second, with 1 key:`,
  );
  expect(stderr).toContain(`${keyId} (…`);
});

it('A command that asks does nothing after a no on a terminal, and does it after a yes', async () => {
  expect(await onTerminal('no', ...revoke())).toMatchObject({ code: 1 });
  expect(await statusOfKey(keyId)).toBe('active');
  const asked = await onTerminal('y', ...revoke());
  expect(asked.stdout).toContain(`Key ${keyId} (…`);
  expect(asked.code, asked.stdout).toBe(0);
  expect(await statusOfKey(keyId)).toBe('revoked');
  expect(await callsOf('revokeKey')).toBe(1);
});

it('An erasure on a terminal wants the id of the record', async () => {
  const { data: lists } = await jsonHere<{ data: { id: string }[] }>(
    'handoff',
    'list',
    '--owner',
    'northwind',
    ...at(),
  );
  const { id = '' } = lists[0] ?? {};
  const erase = ['erase', id, '--reason', 'A test', ...at()];
  const refused = await onTerminal('y', ...erase);
  expect(refused.code, refused.stdout).toBe(1);
  const erased = await onTerminal(id, ...erase);
  expect(erased.code, erased.stdout).toBe(0);
  expect(erased.stdout).toContain('the key is destroyed');
});

it('An import asks on a terminal before it ends more than a fifth of its source', async () => {
  const lines = Array.from({ length: 4 }, (_, n) => `E-${n},Mug ${n},1.00 GBP,in_stock\n`);
  const all = feed(data, 'all.csv', HEADER + lines.join(''));
  await jsonHere('catalog', 'import', all, '--source', 'effects', ...at());
  const fewer = feed(data, 'fewer.csv', HEADER + lines.slice(2).join(''));
  const ends = ['catalog', 'import', fewer, '--source', 'effects', '--ends-absent', ...at()];
  const refused = await onTerminal('n', ...ends);
  expect(refused.code, refused.stdout).toBe(1);
  expect(refused.stdout).toContain('2 of 4 products of effects are not in the feed: E-0, E-1');
  expect(refused.stdout).toContain('nothing was ended: it was not confirmed.');
  const ended = await onTerminal('y', ...ends);
  expect(ended.code, ended.stdout).toBe(0);
  expect(ended.stdout).toContain('2 unchanged, 2 ended, 0 rejected');
});

it('The key of a suspended agent is suspended, and works again with its agent', async () => {
  const { id } = await jsonHere<{ id: string }>('key', 'issue', agent, ...at());
  await jsonHere('access', 'suspend', agent, '--reason', 'A test', '--yes', ...at());
  expect(await statusOfKey(id)).toBe('suspended');
  await jsonHere('access', 'reinstate', agent, '--reason', 'A test', ...at());
  expect(await statusOfKey(id)).toBe('active');
});

it('A withdrawn consent of a mailbox without records is recorded, and the command says so', async () => {
  const { code, stdout } = await runHere(
    'privacy',
    'withdraw',
    'nobody@shop.example',
    '--proof',
    'Ticket 1',
    ...at(),
  );
  expect(code).toBe(0);
  expect(stdout).toContain('Recorded. No record has this mailbox now.');
});
