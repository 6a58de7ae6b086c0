/** How far the folds of audits are while they read. */
import { expect, test } from 'vitest';
import { OWNER_FOLDS } from '#projections/owner-fold.ts';
import { Replays } from '#src/audits/replays.ts';
import { AUDIT_PAGE } from '#src/audits/moments.ts';
import { inLog } from '../support/world/fold.ts';
import { linkCreated } from '../support/world/stories.ts';

test('Replays know how far an owner is read while a question reads it, and forget it afterwards', async () => {
  const events = inLog(Array.from({ length: AUDIT_PAGE + 5 }, (_, n) => linkCreated(String(n))));
  const replays = new Replays(OWNER_FOLDS);
  const seen: unknown[] = [];
  const log = {
    async readOwnerFold(_owner: string, { after, limit }: { after: number; limit: number }) {
      seen.push(replays.readings.get('anna'));
      return events.slice(after, after + limit);
    },
  };
  const position = events.length;
  await replays.at(log, { owner: 'anna', position }, async () => {
    seen.push(replays.readings.get('anna'));
  });
  expect(seen).toEqual([
    { position: 0, upTo: position },
    { position: AUDIT_PAGE, upTo: position },
    undefined,
  ]);
});
