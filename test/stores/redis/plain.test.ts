/** The warning about a connection to Redis that others on the network can read. */
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { memoryEventLog } from '../../support/memory-event-log.ts';
import { networkRiskOf } from '#src/stores/redis/connect.ts';
import { readConfig } from '#src/config.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { openRemoteStore } from '#src/wiring/read-models.ts';

describe('The network risk of READ_MODEL_URL', () => {
  it.each([
    ['redis://10.0.0.5:6379', 'anybody who can reach the port'],
    ['redis://redis:6379', 'anybody who can reach the port'],
    ['redis://127.0.0.1.example:6379', 'anybody who can reach the port'],
    ['redis://user:secret@10.0.0.5:6379', 'anybody on the network path can read the password'],
    ['redis://:secret@[2001:db8::1]:6379/2', 'anybody on the network path can read the password'],
  ])('The network risk of READ_MODEL_URL=%s is named', (url, risk) => {
    expect(networkRiskOf(new URL(url))).toContain(risk);
  });

  it.each([
    'redis://localhost:6379',
    'redis://127.0.0.1:6379',
    'redis://[::1]:6379/1',
    'rediss://user:secret@10.0.0.5:6379',
    'rediss://10.0.0.5',
  ])('READ_MODEL_URL=%s has no network risk', (url) => {
    expect(networkRiskOf(new URL(url))).toBeUndefined();
  });
});

describe('A start with redis:// to another machine', () => {
  /** Opens the store of a host that does not exist, and returns what was logged before the start failed. */
  const logged = async (settings: Record<string, string>): Promise<string[]> => {
    const lines: string[] = [];
    const logger = pino({ base: null }, { write: (line) => void lines.push(line) });
    const config = readConfig({ READ_MODEL_URL: 'redis://redis.invalid:6379', ...settings });
    await using parts = new AsyncDisposableStack();
    const { signal } = new AbortController();
    const options = { log: memoryEventLog(), logger, signal, parts };
    await expect(openRemoteStore(config, options)).rejects.toThrow(StartupError);
    return lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
  };

  it('A start with redis:// to another machine warns, unless REDIS_ALLOW_PLAIN is 1', async () => {
    expect(await logged({})).toEqual(['Redis is used without TLS']);
    expect(await logged({ REDIS_ALLOW_PLAIN: '1' })).toEqual([]);
    expect(() => readConfig({ REDIS_ALLOW_PLAIN: 'yes' })).toThrow('REDIS_ALLOW_PLAIN: must be 1');
  });
});
