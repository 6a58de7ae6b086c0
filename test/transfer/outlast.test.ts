/** Each call of a copy is repeated during an outage of the server, and none for ever. */
import { describe, expect, it } from 'vitest';
import { type LogFault, LogUnavailable, NO_STREAM } from '#src/ports/event-log.ts';
import type { MovableKeys } from '#src/ports/system.ts';
import { lastingKeys, lastingLog, OUTAGE_S_MAX, outlasting } from '#src/transfer/copy-log.ts';
import { several } from '../conformance/log-events.ts';
import { memoryEventLog } from '../support/memory-event-log.ts';

/** A clock that only pauses advance, and what the operator was told. */
const world = () => {
  let ms = 0;
  const told: string[] = [];
  const repeat = outlasting({
    onOutage: (cause) => void told.push(cause),
    monotonic: () => ms,
    pause: async (length) => void (ms += length),
  });
  return { told, repeat, ms: () => ms };
};

/** The same object, whose methods all fail this often before each answer. */
const failing = <Part extends object>(part: Part, times: number): Part => {
  const failures = new Map<unknown, number>();
  return new Proxy(part, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return async (...args: unknown[]): Promise<unknown> => {
        const count = failures.get(name) ?? 0;
        failures.set(name, count + 1);
        if (count >= times) return Reflect.apply(member, target, args);
        throw new LogUnavailable('fault', 'unknown', 'no answer');
      };
    },
  });
};

const vault: MovableKeys = { keyOf: async () => 'never', adopt: async () => true };

describe('A copy', () => {
  it('A copy repeats every call to a log and to its keys, and reports each outage once', async () => {
    const { told, repeat } = world();
    const log = lastingLog(failing(memoryEventLog({ id: 'one-log-1' }), 3), repeat);
    const keys = lastingKeys(failing(vault, 3), repeat);
    const calls: Record<string, () => Promise<unknown>> = {
      head: () => log.head(),
      readAll: () => log.readAll({ after: 0, limit: 1 }),
      append: () => log.append('acme-lead_1', NO_STREAM, several(1)),
      keyOf: () => keys.keyOf('led_1'),
      adopt: () => keys.adopt('led_1', 'destroyed'),
    };
    const methods = [...Object.keys(log), ...Object.keys(keys)].filter((name) => name !== 'id');
    expect(methods.toSorted()).toEqual(Object.keys(calls).toSorted());
    for (const call of Object.values(calls)) await call();
    expect(told).toEqual(methods.map(() => 'no answer'));
  });

  it('A copy ends when the server has not answered for a minute', async () => {
    const { repeat, ms, told } = world();
    const { head } = lastingLog(failing(memoryEventLog({ id: 'one-log-1' }), Infinity), repeat);
    await expect(head()).rejects.toBeInstanceOf(LogUnavailable);
    expect(ms()).toBeGreaterThanOrEqual(OUTAGE_S_MAX * 1_000);
    expect(told).toHaveLength(1);
  });

  it('A copy ends at once when waiting does not help', async () => {
    for (const reason of ['replaced', 'full', 'closed', 'clock'] satisfies LogFault[]) {
      const { repeat, ms } = world();
      const refused = repeat(() => Promise.reject(new LogUnavailable(reason, 'no', reason)));
      await expect(refused).rejects.toMatchObject({ reason });
      expect(ms()).toBe(0);
    }
  });
});
