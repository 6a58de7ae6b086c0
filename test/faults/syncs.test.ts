/** How often a write of an agent waits for the disk. */
import { afterAll, expect, it } from 'vitest';
import { httpClient, writeOf } from '../support/clients/journal.ts';
import { buildDiskFaults } from '../support/disk/disk-faults.ts';
import { agentKey, atDesk, endChildren, serveChild } from '../support/processes/child-service.ts';
import { directories } from '../support/processes/directories.ts';
import { feedProduct } from '../support/world/app.ts';

const { fresh, removeAll } = directories('syncs-');
const built = buildDiskFaults(fresh());
afterAll(async () => {
  await endChildren();
  removeAll();
});

/** The service writes audit records and marks of its own meanwhile: the fewest syncs of several rounds are those of the write. */
const ROUNDS = 6;
const KINDS = ['a link', 'a link with a slug', 'a lead with a contact', 'a handoff'];

it.skipIf(!built)(
  'A lead costs one sync of the log and one of the keys, and a link one of the log (needs cc on Linux)',
  async () => {
    if (!built) throw new Error('there is no library');
    const service = await serveChild(fresh(), built.settings);
    const products = Array.from({ length: 5 }, (_, n) => feedProduct(`SKU-${n}`));
    await atDesk(service, '/products/import', { products });
    const key = await agentKey(service);
    const client = httpClient();
    const syncs = () => built.syncsOf('/log.db-wal', '/keys.db-wal');
    const costs: Record<string, number[]> = {};
    // The first round starts the threads that write the files.
    for (let n = 0; n < ROUNDS * KINDS.length; n += 1) {
      const before = syncs();
      const answer = await client.post(service.url, key, writeOf(n), `write-${n}`);
      expect(answer?.status, answer?.text).toBe(201);
      const kind = KINDS[n % KINDS.length] ?? '';
      const fewest = costs[kind] ?? [];
      costs[kind] = syncs().map((count, i) =>
        Math.min(count - (before[i] ?? 0), fewest[i] ?? Infinity),
      );
    }
    client.close();
    expect(costs).toEqual({
      'a link': [1, 0],
      'a link with a slug': [1, 0],
      'a lead with a contact': [1, 1],
      'a handoff': [1, 0],
    });
  },
);
