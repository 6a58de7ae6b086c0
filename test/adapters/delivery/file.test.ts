import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { fileChannel } from '#src/adapters/delivery/file.ts';
import { makeDirectory } from '#src/adapters/system/directory.ts';
import type { Delivery } from '#src/ports/delivery.ts';
import { deliveryTo } from '../../support/world/deliveries.ts';
import { directories } from '../../support/processes/directories.ts';

const { fresh, removeAll } = directories('outbox-');
afterAll(removeAll);

const { signal: NEVER } = new AbortController();
const outbox = () => {
  const directory = join(fresh(), 'outbox');
  const channel = fileChannel({ directory, makeDirectory });
  const deliver = (over: Partial<Delivery> = {}) => channel.deliver(deliveryTo(over), NEVER);
  return { directory, deliver };
};

const DELIVERED = { outcome: 'delivered', evidence: 'acme/out_1.2.json' };

describe('the outbox', () => {
  it('holds the approved bytes in a file of the revision, readable by us alone', async () => {
    const { directory, deliver } = outbox();
    const envelope = '{"text":"Tee für zwei ☕"}';
    expect(await deliver({ envelope })).toEqual(DELIVERED);
    const file = join(directory, 'acme/out_1.2.json');
    expect(readFileSync(file)).toEqual(Buffer.from(envelope));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(directory, 'acme'))).toEqual(['out_1.2.json']);
  });

  it('takes the same bytes once, and never other bytes in their place', async () => {
    const { directory, deliver } = outbox();
    await deliver();
    const file = join(directory, 'acme/out_1.2.json');
    const before = statSync(file);
    expect(await deliver({ attempt: 2 })).toEqual(DELIVERED);
    expect(statSync(file).ino).toBe(before.ino);
    expect(await deliver({ envelope: '{}' })).toEqual({
      outcome: 'refused',
      reason: 'file_differs',
    });
    expect(readFileSync(file, 'utf8')).toBe(deliveryTo().envelope);
    expect(await deliver({ revision: 3, envelope: '{}' })).toMatchObject({ outcome: 'delivered' });
  });

  it('keeps owners, and their test spaces, in folders of their own', async () => {
    const { directory, deliver } = outbox();
    for (const ownerId of ['acme', 'testacme', 'bolt']) await deliver({ ownerId });
    expect(readdirSync(directory).sort()).toEqual(['acme', 'bolt', 'testacme']);
  });

  it('removes what a killed attempt left behind, and is not fooled by it', async () => {
    const { directory, deliver } = outbox();
    mkdirSync(join(directory, 'acme'), { recursive: true });
    writeFileSync(join(directory, 'acme/.out_1.2.1.tmp'), 'half a fi');
    expect(await deliver({ attempt: 2 })).toEqual(DELIVERED);
    expect(readdirSync(join(directory, 'acme'))).toEqual(['out_1.2.json']);
  });

  it('lets two attempts at once be one file', async () => {
    const { directory, deliver } = outbox();
    const all = await Promise.all([1, 2, 3, 4].map((attempt) => deliver({ attempt })));
    expect(all.every(({ outcome }) => outcome === 'delivered' || outcome === 'retry')).toBe(true);
    expect(readFileSync(join(directory, 'acme/out_1.2.json'), 'utf8')).toBe(deliveryTo().envelope);
  });

  it('may be tried again when there is no way in', async () => {
    const { directory, deliver } = outbox();
    mkdirSync(join(directory, '..'), { recursive: true });
    writeFileSync(directory, 'a file where the directory should be');
    expect(await deliver()).toMatchObject({ outcome: 'retry' });
    chmodSync(directory, 0o600);
  });

  it('makes no file of a name that could lead elsewhere', async () => {
    const { deliver } = outbox();
    await expect(deliver({ ownerId: '../acme' })).rejects.toThrow('no file name');
    await expect(deliver({ outboundId: 'out_1/../../x' })).rejects.toThrow('no file name');
  });
});
