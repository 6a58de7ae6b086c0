/** A size of proof.db that does not fit its tiles: the tree is built again, and no root is published that the log does not have. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, expect, it } from 'vitest';
import { LogTree } from '#src/proof/tree.ts';
import { sqliteProofStore } from '#src/stores/sqlite/proof-store.ts';
import { claimCode, notaryAt } from '../support/audit/notary.ts';
import { memoryEventLog } from '../support/memory-event-log.ts';
import { directories } from '../support/processes/directories.ts';

const { fresh, removeAll } = directories('damaged-tree-');
afterAll(removeAll);

it.each([-300, -1, 1, 300])(
  'A tree whose size in the file is wrong by %i is built again from the log',
  async (by) => {
    const log = memoryEventLog();
    const path = join(fresh(), 'proof.db');
    for (let n = 0; n < 700; n += 1) await claimCode(log, String(n));
    const before = notaryAt(path, log);
    await before.tree.advance();
    before.store.close();
    const db = new DatabaseSync(path);
    db.prepare('UPDATE progress SET size = size + ?').run(by);
    db.close();
    for (let n = 700; n < 710; n += 1) await claimCode(log, String(n));
    const { tree, store } = notaryAt(path, log);
    await tree.advance();
    const built = new LogTree(log, sqliteProofStore(join(fresh(), 'proof.db')));
    await built.advance();
    expect([tree.size, tree.rootAt(710)]).toEqual([710, built.rootAt(710)]);
    store.close();
  },
);
