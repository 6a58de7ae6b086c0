/** Audits the demo as an auditor, and an exported file without the service. test/cli/documents.test.ts runs the commands of AUDITING. */
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ended, killAll, serve, type Server, start, until } from '../../support/clients/cli.ts';
import { jsonHere, runHere } from '../../support/clients/cli-here.ts';
import { directories } from '../../support/processes/directories.ts';

const directory = directories('tributary-auditing-');
let server: Server;
let data: string;
beforeAll(async () => {
  data = directory.fresh();
  server = await serve(data, '--demo');
});
afterAll(() => {
  killAll([server]);
  directory.removeAll();
});

/** The members of exported events are in another order. */
const objectsIn = (stdout: string): unknown[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('An exported file', () => {
  it('An exported file answers the same as the service, and nothing if it is damaged', async () => {
    const file = join(directory.fresh(), 'northwind.audit');
    const about = JSON.parse(
      (await runHere('audit', 'export', '--owner', 'northwind', file, '--data', data, '--json'))
        .stdout,
    ) as { up_to: number };
    for (const words of [
      ['performance', '--group-by', 'campaign,country', '--granularity', 'week'],
      ['state', '-n', '100'],
      ['diff', '--from', '2026-01-01', '-n', '100'],
    ]) {
      const [verb = '', ...flags] = words;
      const end = verb === 'diff' ? '--to' : '--at';
      const asked = [
        'audit',
        verb,
        '--owner',
        'northwind',
        ...flags,
        end,
        String(about.up_to),
        '--json',
      ];
      const ofFile = await runHere(...asked, '--file', file);
      expect(ofFile.code, ofFile.stderr).toBe(0);
      const ofService = await runHere(...asked, '--data', data);
      expect(objectsIn(ofFile.stdout)).toEqual(objectsIn(ofService.stdout));
    }
    const lines = readFileSync(file, 'utf8').split('\n');
    writeFileSync(file, lines.toSpliced(20, 1).join('\n'));
    const damaged = await runHere('audit', 'state', '--owner', 'northwind', '--file', file);
    expect(damaged.code).toBe(4);
    expect(damaged.stderr).toContain('line 21:');
  });

  it('An audit is exported only to a file: a pipe of the same name is not replaced', async () => {
    const pipe = join(directory.fresh(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    const refused = await runHere('audit', 'export', '--owner', 'northwind', pipe, '--data', data);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('is not a file');
    expect(statSync(pipe).isFIFO()).toBe(true);
  });
});

describe("An auditor's own token", () => {
  it("An auditor's own token is the one of DESK_TOKEN, and its name is beside each question", async () => {
    const person = ['--name', 'Ada Audit', '--person', 'ada@audit.example', '--roles', 'auditor'];
    const issued = await jsonHere<{ token: string }>('token', 'issue', ...person, '--data', data);
    const asAda = (...words: string[]) =>
      ended(start([...words, '--data', data], [`DESK_TOKEN=${issued.token}`]));
    const state = ['audit', 'state', '--owner', 'northwind', '--limit', '1'];
    expect(await asAda(...state)).toMatchObject({ code: 0 });
    expect(await asAda('outreach', 'halt', '--yes', '--reason', 'No')).toMatchObject({ code: 1 });
    const history = ['audit', 'history', '--owner', 'desk', '--kind', 'auditState', '--json'];
    const seen = async () => (await runHere(...history, '--data', data)).stdout;
    expect(await until(async () => (await seen()).includes('"actor_name":"Ada Audit"'))).toBe(true);
  });
});

describe('A file that begins after a position', () => {
  it('A file that begins after a position answers the history, and refuses the rest with the way forward', async () => {
    const file = join(directory.fresh(), 'late.audit');
    const of = ['--owner', 'northwind'];
    await runHere('audit', 'export', ...of, '--from', '300', file, '--data', data);
    for (const words of [['state'], ['diff', '--from', '400'], ['performance']]) {
      const { code, stdout, stderr } = await runHere('audit', ...words, ...of, '--file', file);
      expect({ code, stdout }, words[0]).toEqual({ code: 1, stdout: '' });
      expect(stderr).toContain('The file begins after position 300');
      expect(stderr).toContain('Export the owner without from');
    }
    expect(await runHere('audit', 'history', ...of, '--file', file)).toMatchObject({ code: 0 });
  });
});

describe('audit history --follow', () => {
  const follow = (...more: string[]) =>
    ['audit', 'history', '--owner', 'northwind', '--follow', '--limit', '1', ...more] as const;

  it('`audit history --follow` prints new acts that pass its filters until SIGINT, and ends with 0', async () => {
    const following = start(follow('--kind', 'LinkCreated', '--json', '--data', data));
    const end = ended(following);
    let seen = '';
    following.stdout?.on('data', (chunk) => (seen += String(chunk)));
    expect(await until(() => seen.includes('as_of'))).toBe(true);
    const { url, api_key: key } = server.ready;
    for (const campaign of ['followed-1', 'followed-2'])
      await fetch(`${url}/api/affiliate/v1/links`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'idempotency-key': campaign,
        },
        body: JSON.stringify({ target: { kind: 'search', ref: 'mug' }, campaign }),
      });
    const acts = () =>
      seen
        .split('as_of')
        .at(-1)
        ?.match(/"type":"\w+"/g);
    expect(await until(() => acts()?.length === 2), seen).toBe(true);
    expect(acts()).toEqual(['"type":"LinkCreated"', '"type":"LinkCreated"']);
    following.kill('SIGINT');
    expect(await end).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^Acting as the machine\. [^\n]+\n$/) as string,
    });
  });

  it('`audit history --follow` is refused for the desk, whose history would contain each look', async () => {
    const refused = await runHere(
      'audit',
      'history',
      '--owner',
      'desk',
      '--follow',
      '--data',
      data,
    );
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('tributary events tail --owner desk --follow');
  });

  it('`audit history --follow` says that there is nothing to follow in a file, and in a data directory without a server', async () => {
    const file = join(directory.fresh(), 'northwind.audit');
    await runHere('audit', 'export', '--owner', 'northwind', file, '--data', data);
    expect(await runHere(...follow('--file', file))).toMatchObject({
      code: 0,
      stderr: 'Nothing is added to a file, so there is nothing to follow.\n',
    });
    await server.stop();
    expect(await runHere(...follow('--data', data))).toMatchObject({
      code: 0,
      stderr: 'No server runs on this directory, so there is nothing to follow.\n',
    });
  });
});
