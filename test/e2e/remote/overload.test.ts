/** A storm of calls at a process that refuses by waiting time: it stays alive, refuses honestly, and recovers. */
import { env } from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  agentKey,
  type ChildService,
  endChildren,
  serveChild,
} from '../../support/processes/child-service.ts';
import { directories } from '../../support/processes/directories.ts';
import { until } from '../../support/clients/cli.ts';

/** More than a process can handle within 250 ms on any machine; `make test-chaos` repeats the storm more often. */
const CLIENTS = 400;
const STORMS = Number(env['CHAOS_BLOWS'] ?? 0) > 0 ? 10 : 1;
const CALLS_EACH = 5;

const temporary = directories('tributary-overload-');

describe('A process with more calls than it can handle', () => {
  let service: ChildService;
  let key: string;
  beforeAll(async () => {
    const directory = temporary.fresh();
    const generous = await serveChild(directory);
    key = await agentKey(generous);
    await generous.end('SIGTERM');
    service = await serveChild(directory, { ADMISSION_WAIT_MS: '20', WRITES_AT_ONCE: '10000' });
  });
  afterAll(async () => {
    await endChildren();
    temporary.removeAll();
  });

  const createLink = (name: string): Promise<Response> =>
    fetch(`${service.url}/api/affiliate/v1/links`, {
      method: 'POST',
      body: JSON.stringify({ target: { kind: 'search', ref: name } }),
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': name,
      },
    });

  it.each(Array.from({ length: STORMS }, (_, n) => n))(
    'A process with more calls than it can handle answers or refuses each call, answers health, and performs every refused call once later: storm %i',
    async (storm) => {
      const created = new Map<string, string>();
      const refused: string[] = [];
      const others: string[] = [];
      const create = async (name: string): Promise<void> => {
        const answer = await createLink(name);
        const body = (await answer.json()) as { id?: string; code?: string };
        if (answer.status === 201) created.set(name, body.id ?? '');
        else if (answer.status === 503 && body.code === 'overloaded') {
          refused.push(name);
          if (!(Number(answer.headers.get('retry-after')) >= 1)) others.push('no Retry-After');
        } else others.push(`${answer.status} ${body.code}`);
      };
      const client = async (n: number): Promise<void> => {
        for (let i = 0; i < CALLS_EACH; i++) await create(`storm-${storm}-${n}-${i}`);
      };
      let isOver = false;
      const health = new Set<number>();
      const watching = (async () => {
        while (!isOver) health.add((await fetch(`${service.url}/livez`)).status);
      })();
      await Promise.all(Array.from({ length: CLIENTS }, (_, n) => client(n)));
      isOver = true;
      await watching;
      expect(others).toEqual([]);
      expect([...health]).toEqual([200]);
      expect(refused.length).toBeGreaterThan(0);
      // As clients that obey Retry-After do.
      const resend = async (): Promise<boolean> => {
        for (const name of refused.splice(0)) await create(name);
        if (refused.length > 0) await wait(1_000);
        return refused.length === 0;
      };
      expect(await until(resend)).toBe(true);
      expect(others).toEqual([]);
      expect(created.size).toBe(CLIENTS * CALLS_EACH);
      expect(new Set(created.values()).size).toBe(created.size);
    },
  );
});
