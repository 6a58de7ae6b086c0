import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { fileChannel } from '#src/delivery/channels.ts';
import { makeDirectory } from '#src/system/directory.ts';
import type { Delivery } from '#src/ports/delivery.ts';
import { deliveryTo } from '../support/world/deliveries.ts';
import { directories } from '../support/processes/directories.ts';

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

describe('The outbox', () => {
  it('The outbox holds the approved bytes in a file of the revision that only this user can read', async () => {
    const { directory, deliver } = outbox();
    const envelope = '{"text":"Tee für zwei ☕"}';
    expect(await deliver({ envelope })).toEqual(DELIVERED);
    const file = join(directory, 'acme/out_1.2.json');
    expect(readFileSync(file)).toEqual(Buffer.from(envelope));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(directory, 'acme'))).toEqual(['out_1.2.json']);
  });

  it('The outbox accepts the same bytes again, and refuses other bytes under the same name', async () => {
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

  it('The outbox holds a folder for each owner and each test space', async () => {
    const { directory, deliver } = outbox();
    for (const ownerId of ['acme', 'testacme', 'bolt']) await deliver({ ownerId });
    expect(readdirSync(directory).sort()).toEqual(['acme', 'bolt', 'testacme']);
  });

  it('The outbox removes and ignores the temporary file of a killed attempt', async () => {
    const { directory, deliver } = outbox();
    mkdirSync(join(directory, 'acme'), { recursive: true });
    writeFileSync(join(directory, 'acme/.out_1.2.1.tmp'), 'half a fi');
    expect(await deliver({ attempt: 2 })).toEqual(DELIVERED);
    expect(readdirSync(join(directory, 'acme'))).toEqual(['out_1.2.json']);
  });

  it('The outbox holds one file after two concurrent attempts', async () => {
    const { directory, deliver } = outbox();
    const all = await Promise.all([1, 2, 3, 4].map((attempt) => deliver({ attempt })));
    expect(all.every(({ outcome }) => outcome === 'delivered' || outcome === 'retry')).toBe(true);
    expect(readFileSync(join(directory, 'acme/out_1.2.json'), 'utf8')).toBe(deliveryTo().envelope);
  });

  it('The outbox reports a retry when the directory cannot be written to', async () => {
    const { directory, deliver } = outbox();
    mkdirSync(join(directory, '..'), { recursive: true });
    writeFileSync(directory, 'a file where the directory should be');
    expect(await deliver()).toMatchObject({ outcome: 'retry' });
    chmodSync(directory, 0o600);
  });

  it('The outbox refuses names that lead out of the directory', async () => {
    const { deliver } = outbox();
    await expect(deliver({ ownerId: '../acme' })).rejects.toThrow('not a valid file name');
    await expect(deliver({ outboundId: 'out_1/../../x' })).rejects.toThrow('not a valid file name');
  });
});
