import { describe, expect, it } from 'vitest';
import { ConfigError, readConfig } from '#src/config.ts';

const hosts = (value: string) => readConfig({ OUTREACH_PRIVATE_HOSTS: value }).outreachPrivateHosts;

describe('The setting OUTREACH_PRIVATE_HOSTS', () => {
  it('OUTREACH_PRIVATE_HOSTS lists hosts with their port, normalized as in a URL', () => {
    expect(readConfig({}).outreachPrivateHosts).toEqual([]);
    expect(hosts('Hook.Internal:080, [::1]:8443,127.1:9000')).toEqual([
      'hook.internal:80',
      '[::1]:8443',
      '127.0.0.1:9000',
    ]);
  });

  it.each([
    'hook.internal',
    'http://hook.internal:80',
    'a b:80',
    'u@hook:80',
    'hook:99999',
    '*:80x',
  ])('OUTREACH_PRIVATE_HOSTS refuses %s', (value) =>
    expect(() => hosts(value)).toThrow(ConfigError),
  );
});
