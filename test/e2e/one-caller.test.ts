/** One caller within the limits: others are answered meanwhile, without a refusal, and the process goes on. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { systemClock, systemIds } from '#src/system/ids.ts';
import { feedProduct } from '../support/world/app.ts';
import type { ChildService } from '../support/processes/child-service.ts';
import { agentKey, atDesk, endChildren, serveChild } from '../support/processes/child-service.ts';
import { directories } from '../support/processes/directories.ts';

const { fresh, removeAll } = directories('caller-');
/** A fold takes an eighth. */
const HEAP_MB = 192;
const HANDOFFS = 60;

let service: ChildService;
let key: string;
let victimKey: string;
const sockets: Socket[] = [];

beforeAll(async () => {
  service = await serveChild(fresh(), {
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
    BODY_BYTES_PER_SECOND: String(LIMITS.BODY_BYTES_PER_SECOND),
  });
  await atDesk(service, '/products/import', { products: [feedProduct('MUG-1')] });
  key = await agentKey(service);
  victimKey = await agentKey(service, 'victim');
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(async () => {
  await endChildren();
  removeAll();
});

let keys = 0;
const post = (path: string, body: object) =>
  fetch(`${service.url}/api/affiliate/v1${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': `attack-${(keys += 1)}`,
    },
    body: JSON.stringify(body),
  });

/** Reads as another promoter, on a new connection each time, until the attack has ended; returns the statuses. */
const victimDuring = async <T>(
  attack: Promise<T>,
): Promise<{ statuses: Set<number>; result: T }> => {
  let isOver = false;
  const result = attack.finally(() => (isOver = true));
  const statuses = new Set<number>();
  do {
    const answer = await fetch(`${service.url}/api/affiliate/v1/leads`, {
      headers: { authorization: `Bearer ${victimKey}`, connection: 'close' },
    });
    await answer.text();
    statuses.add(answer.status);
  } while (!isOver);
  return { statuses, result: await result };
};

it('Audits of an owner with large lists end neither the process nor the answers to others', async () => {
  const line_items = Array.from({ length: LIMITS.HANDOFF_LINES_MAX }, (_, n) => ({
    sku: 'MUG-1',
    quantity: 4 + 2 * n,
  }));
  for (let n = 0; n < HANDOFFS; n += 1) {
    const made = await post('/handoffs', { title: `List ${n}`, line_items });
    expect(made.status, await made.text()).toBe(201);
  }
  const audit = async (path: string) => {
    const answer = await fetch(`${service.url}/api/desk/v1${path}`, {
      headers: { authorization: `Bearer ${service.deskToken}` },
    });
    const body = (await answer.json()) as { detail?: string };
    return { status: answer.status, detail: body.detail };
  };
  const now = new Date(systemClock().now()).toISOString();
  const questions = [
    'diff?from=0',
    'state?limit=1',
    `diff?from=${now}`,
    `state?at=${now}`,
    'history?kind=LeadSubmitted',
    `trace/${systemIds().uuid()}?`,
  ];
  const attack = async () => {
    const answers: Awaited<ReturnType<typeof audit>>[] = [];
    for (const question of questions) {
      const path = `/audit/${question}&owner_id=acme`;
      answers.push(...(await Promise.all(Array.from({ length: 16 }, () => audit(path)))));
    }
    return answers;
  };
  const { statuses, result } = await victimDuring(attack());
  expect([...statuses]).toEqual([200]);
  for (const { status, detail } of result)
    if (status !== 200 && status !== 404)
      expect([status, detail]).toEqual([
        expect.toBeOneOf([400, 422, 429]),
        expect.stringContaining('file'),
      ]);
  const refused = result.flatMap(({ detail = [] }) => detail);
  expect(refused).toContainEqual(expect.stringContaining('earlier moment'));
  expect(service.child.exitCode).toBe(null);
});

it('Bodies that are refused cost their sender, not others', async () => {
  const body = Object.fromEntries(
    Array.from({ length: 9_000 }, (_, n) => [`unknown_${n}`, '123456']),
  );
  const attack = Array.from({ length: 45 }, async () => {
    const answer = await post('/links', body);
    await answer.text();
    return answer.status;
  });
  const { statuses, result } = await victimDuring(Promise.all(attack));
  expect([...statuses]).toEqual([200]);
  // A slow machine reads fewer bytes a second than a key has; test/web/body-budget.test.ts counts them.
  expect([422, 429]).toEqual(expect.arrayContaining(result));
});

it('Idle connections give their places to others', async () => {
  const { hostname, port } = new URL(service.url);
  for (let n = 0; n < LIMITS.SOCKETS_MAX + 24; n += 1) {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on('error', () => undefined);
    sockets.push(socket);
    await once(socket, 'connect');
  }
  const { statuses } = await victimDuring(Promise.resolve());
  expect([...statuses]).toEqual([200]);
});
