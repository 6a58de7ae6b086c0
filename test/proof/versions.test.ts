/** Proofs of a log whose types get newer versions: they cover what was written, whatever a later program reads. */
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import type { Upcasts } from '#contracts/registries/events.ts';
import { checkTree } from '#src/proof/check-log.ts';
import { markTree } from '#src/proof/notary.ts';
import { receiptsOf } from '#src/proof/receipts.ts';
import { MARKS_STREAM } from '#src/proof/tree.ts';
import { UnknownEventType } from '#src/ports/event-log.ts';
import { sqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
import { sqliteProofStore } from '#src/stores/sqlite/proof-store.ts';
import {
  claimCode,
  claimedCodes,
  fileOf,
  newestNote,
  notaryAt,
  OWNER,
  SIGNERS,
  verifyFile,
} from '../support/audit/notary.ts';
import { directories } from '../support/processes/directories.ts';

const { fresh, removeAll } = directories('proof-versions-');
afterAll(removeAll);

/** A program for which the type has two versions. */
const LATER: Upcasts = { CodeClaimed: [(data) => ({ ...data, link_id: 'lnk_converted' })] };
const STREAM = `${OWNER}-code_several`;

const checked = (log: ReturnType<typeof sqliteEventLog>, directory: string, kept: string) =>
  checkTree(log, {
    published: sqliteProofStore(join(directory, 'proof.db')),
    scratch: sqliteProofStore(join(fresh(), 'scratch.db')),
    kept,
  });

it('Checkpoints, exports and receipts stay valid when a type gets a newer version, and for a program without it', async () => {
  const directory = fresh();
  const first = sqliteEventLog({ directory });
  const notary = notaryAt(join(directory, 'proof.db'), first);
  await first.append(STREAM, -1, claimedCodes(3));
  await markTree(notary);
  const note = newestNote(notary);
  const size = notary.tree.newest?.size ?? 0;
  const receipts = receiptsOf(notary, await first.readOwner(OWNER, { after: 0, limit: 9 }));
  await first.close();

  const later = sqliteEventLog({ directory, upcasts: LATER });
  const shown = await later.readOwner(OWNER, { after: 0, limit: 9 });
  expect(shown.map(({ data }) => data)).toContainEqual(
    expect.objectContaining({ link_id: 'lnk_converted' }),
  );
  expect(await checked(later, directory, note)).toMatchObject({ fault: null });
  const continued = notaryAt(join(directory, 'proof.db'), later);
  await continued.tree.advance();
  expect(receiptsOf(continued, shown)).toEqual(receipts);
  const [event] = claimedCodes(1);
  if (!event) throw new Error('there is no event');
  const written = { ...event, data: { ...event.data, link_id: 'lnk_new' } };
  await later.append(`${OWNER}-code_new`, -1, [{ ...written, meta: { ...written.meta, v: 2 } }]);
  await markTree(continued);
  const file = await fileOf(continued, size);
  expect(file.toString()).not.toContain('lnk_converted');
  expect(file.toString()).toContain('"schemas":{"CodeClaimed":2}');
  expect(await verifyFile(file, { keys: [SIGNERS[0].text] })).toMatchObject({ status: 0 });
  const newest = newestNote(continued);
  await later.close();

  // A program whose schema refuses the data that this conversion returns.
  const refusing = sqliteEventLog({ directory, upcasts: { CodeClaimed: [() => ({})] } });
  expect(await checked(refusing, directory, newest)).toMatchObject({ fault: null });
  await refusing.close();

  // The program without the newer version, after the return to it.
  const back = sqliteEventLog({ directory });
  expect(await checked(back, directory, newest)).toMatchObject({ fault: null });
  const returned = notaryAt(join(directory, 'proof.db'), back);
  await claimCode(back, 'after');
  await markTree(returned);
  expect(await verifyFile(await fileOf(returned), { keys: [SIGNERS[0].text] })).toMatchObject({
    status: 0,
  });
  await back.close();
});

it('The notary does not continue after a mark of a newer version, and names it', async () => {
  const directory = fresh();
  const later = sqliteEventLog({ directory, upcasts: { TreeMarked: [(data) => data] } });
  const [claimed] = claimedCodes(1);
  if (!claimed) throw new Error('there is no event');
  const meta = { ...claimed.meta, v: 2 };
  await later.append(MARKS_STREAM, -1, [{ ...claimed, type: 'TreeMarked', data: {}, meta }]);
  await later.close();
  const log = sqliteEventLog({ directory });
  const { tree } = notaryAt(join(directory, 'proof.db'), log);
  const advancing = tree.advance();
  await expect(advancing).rejects.toBeInstanceOf(UnknownEventType);
  await expect(advancing).rejects.toThrow('position 1 has the type TreeMarked@2');
  await log.close();
});
