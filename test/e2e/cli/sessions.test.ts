/** The example sessions of the contract, run as a new user runs them, and the approval of what they propose. */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ended, json, killAll, run, serve, start, type Server } from '../../support/clients/cli.ts';
import { directories } from '../../support/processes/directories.ts';
import { ROOT } from '../../support/source/tree.ts';
import { TOOLS } from '#src/interfaces/mcp/tools.ts';
import { verifies } from '../../support/source/verifies.ts';

const directory = directories('tributary-sessions-');
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

type Step = { step: string; status: number | string } & Record<string, unknown>;

/** Runs a session and returns the lines that it prints; the same `as` repeats the same intents. */
const session = async (name: string, as: string, over = 'mcp'): Promise<Step[]> => {
  const file = join(ROOT, `contracts/examples/sessions/${name}.ts`);
  const { url, api_key } = server.ready;
  const command = [`SERVICE_API_KEY=${api_key}`, `OVER=${over}`, process.execPath, file, url, as];
  const child = spawn('env', command, {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { code, stdout, stderr } = await ended(child);
  expect(code, stderr).toBe(0);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Step);
};

const steps = (said: Step[]): (number | string)[] => said.map(({ status }) => status);

describe('A session of an agent', () => {
  it("An agent's session over REST searches, links, submits and reads its performance", async () => {
    const said = await session('rest', 'one');
    expect(steps(said)).toEqual([200, 200, 201, 201, 201, 201, 200, 200, 403]);
    expect(said[3]).toMatchObject({ same: true, replayed: 'true' });
    expect(said.at(-1)).toMatchObject({ code: 'boundary_forbidden', action: 'hand_to_buyer' });
  });

  it("An agent's session over MCP searches, links and proposes a post", async () => {
    const said = await session('mcp', 'one');
    expect(steps(said)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok', 'refused', 'ok', 'ok', 'refused']);
    expect(said[1]?.['tools']).toHaveLength(TOOLS.length);
    expect(said[4]).toMatchObject({ same: true });
  });

  /** Without the set-up, the same tasks took this in 2026, before agents could list, check and choose. */
  const FORMERLY = { calls: 24, tokens: 20_800 };

  it.each(['mcp', 'rest'])(
    "An agent's session of six tasks runs over %s, with at most half of the tokens that they once took, and over MCP half of the calls",
    async (over) => {
      const said = await session('tasks', over, over);
      const [found, links, list, , , post] = said;
      expect(found?.['skus']).toContain('KIT-101');
      expect(links).toMatchObject({ created: 10, listed: 10 });
      expect(list).toMatchObject({ warnings: ['off_increment'], nearest: [48, 54], remaining: [] });
      const all = said.at(-1) as unknown as typeof FORMERLY;
      process.stdout.write(
        `${said.map((one) => JSON.stringify([one.step, one['calls'], one['tokens']])).join('\n')}\n`,
      );
      expect(all.tokens).toBeLessThanOrEqual(FORMERLY.tokens / 2);
      if (over === 'rest') return;
      expect(post).toMatchObject({ state: 'pending_approval' });
      expect(all.calls).toBeLessThanOrEqual(FORMERLY.calls / 2);
    },
  );

  it("An agent's session over A2A proposes a promotion, which is sent once after a person approves it", async () => {
    verifies('service.1', 'service.2');
    const said = await session('a2a', 'one');
    expect(steps(said)).toEqual([
      'ok',
      'TASK_STATE_INPUT_REQUIRED',
      'TASK_STATE_AUTH_REQUIRED',
      'TASK_STATE_AUTH_REQUIRED',
      'TASK_STATE_COMPLETED',
      'TASK_STATE_COMPLETED',
      'TASK_STATE_REJECTED',
      'ok',
    ]);
    const at = ['--data', data];
    type Request = { id: string; task_id?: string; content_sha256: string };
    const list = await json<{ data: Request[] }>('approvals', 'list', ...at);
    const request = list.data.find(({ task_id }) => task_id === said[3]?.['task']);
    if (!request) throw new Error('the proposal is not on the list');
    const shown = await run('approvals', 'show', request.id, ...at);
    expect(shown.stdout).toContain('Candles are back in stock. Ask us for a list.');
    const hash = request.content_sha256;
    const promoter = ['--name', 'Olga Orr', '--roles', 'owner', '--owner', 'northwind'];
    const { token } = await json<{ token: string }>('token', 'issue', ...promoter, ...at);
    const asPromoter = (...args: string[]) =>
      ended(start([...args, ...at], [`DESK_TOKEN=${token}`]));
    const blind = await asPromoter('approvals', 'approve', request.id);
    expect(blind).toMatchObject({ code: 2, stdout: '' });
    expect(blind.stderr).toContain(`approvals show ${request.id}`);
    const wrong = await asPromoter('approvals', 'approve', request.id, '--sha256', '0'.repeat(64));
    expect(wrong.code).toBe(1);
    const short = hash.slice(0, 12);
    const right = await asPromoter('approvals', 'approve', request.id, '--sha256', short);
    expect(right.code, right.stderr).toBe(0);
    // The file exists before the event of its confirmation.
    await expect
      .poll(async () => (await run('approvals', 'show', request.id, '--json', ...at)).stdout)
      .toContain('"status":"confirmed"');
    const outbox = join(data, 'outbox', 'northwind');
    expect(readdirSync(outbox)).toEqual([`${request.id}.1.json`]);
    const sent = readFileSync(join(outbox, `${request.id}.1.json`), 'utf8');
    expect(JSON.parse(sent)).toMatchObject({
      id: request.id,
      content: { text: 'Candles are back in stock. Ask us for a list.' },
    });

    // The agent repeats everything: it gets the same task, now completed, and nothing is sent twice.
    const again = await session('a2a', 'one');
    expect(again[3]).toMatchObject({ task: said[3]?.['task'], status: 'TASK_STATE_COMPLETED' });
    expect(readdirSync(outbox)).toHaveLength(1);

    const history = await run('events', 'tail', '--owner', 'northwind', ...at);
    for (const type of [
      'OutboundProposed',
      'OutboundApproved',
      'OutboundDispatched',
      'OutboundConfirmed',
    ])
      expect(history.stdout).toMatch(new RegExp(`\\d+ .*${type} .*${request.id.slice(4)}`));
  });
});
