import { describe, expect, it } from 'vitest';
import { networkOf } from '#src/calls/limits.ts';

describe('The rate limit by address', () => {
  it.each([
    ['203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9', '::ffff:203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::'],
    ['2001:db8:1:2::6', '2001:db8:1:2::'],
    ['2001:db8::6', '2001:db8:0:0::'],
    ['2001:db8:1:2:3:4:5::', '2001:db8:1:2::'],
    ['fe80::1%eth0', 'fe80:0:0:0::'],
    ['::1', '0:0:0:0::'],
    ['::', '0:0:0:0::'],
  ])('The rate limit counts the address %s as the network %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});
