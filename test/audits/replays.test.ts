/** How far the folds of audits are while they read. */
import { expect, test } from 'vitest';
import { Skips } from '#projections/engine/fold.ts';
import { ownerFolds } from '#projections/owner-fold.ts';
import { Replays } from '#src/audits/replays.ts';
import type { Refused } from '#src/shared/outcome.ts';
import { AUDIT_PAGE } from '#src/reading/read-back.ts';
import { inLog } from '../support/world/fold.ts';
import { linkCreated } from '../support/world/stories.ts';

const FOLDS = ownerFolds(new Skips());

test('Replays know how far an owner is read while a question reads it, and forget it afterwards', async () => {
  const events = inLog(Array.from({ length: AUDIT_PAGE + 5 }, (_, n) => linkCreated(String(n))));
  const replays = new Replays(FOLDS);
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
  expect(seen.shift()).toEqual({ position: 0, upTo: position });
  expect(seen.pop()).toBeUndefined();
  const positions = (seen as { position: number }[]).map((one) => one.position);
  expect(positions.length).toBeGreaterThan(1);
  expect(positions).toEqual(positions.toSorted((a, b) => a - b));
});

/** A log of one owner with `count` links, whose reads are kept until they are let go. */
const held = (count: number) => {
  const events = inLog(Array.from({ length: count }, (_, n) => linkCreated(String(n))));
  const going = Promise.withResolvers<void>();
  const reads: { owner: string; limit: number }[] = [];
  return {
    events,
    reads,
    letGo: going.resolve,
    log: {
      async readOwnerFold(owner: string, { after, limit }: { after: number; limit: number }) {
        reads.push({ owner, limit });
        await going.promise;
        return events.slice(after, after + limit);
      },
    },
  };
};
const reasonOf = (result: PromiseSettledResult<unknown>): unknown =>
  result.status === 'rejected' ? (result.reason as Refused).refusal : undefined;

test('A fold that takes more memory than one audit may ends with a refusal that names the file', async () => {
  const { log, letGo, reads } = held(100);
  letGo();
  const replays = new Replays(FOLDS, 20_000);
  const ask = (position: number) =>
    replays.at(log, { owner: 'anna', position }, async (replay) => replay.position);
  await expect(ask(5)).resolves.toBe(5);
  const [large] = await Promise.allSettled([ask(100)]);
  expect(reasonOf(large)).toMatchObject({
    code: 'parameter_invalid',
    detail: expect.stringMatching(/earlier moment.*audit export/),
  });
  // A moment that was refused is refused again without a read, and an earlier one is not.
  const before = reads.length;
  const [again] = await Promise.allSettled([ask(100)]);
  expect(reasonOf(again)).toEqual(reasonOf(large));
  expect(reads).toHaveLength(before);
  await expect(ask(5)).resolves.toBe(5);
});

test('Two audits run at a time, others wait, and too many are asked to come again', async () => {
  const { log, reads, letGo } = held(3);
  const replays = new Replays(FOLDS);
  const ask = (owner: string) =>
    replays.inPlace(owner, () => replays.at(log, { owner, position: 3 }, async () => owner));
  const ofOne = Array.from({ length: 9 }, () => ask('anna'));
  const ofOthers = Array.from({ length: 30 }, (_, n) => ask(`other${n}`));
  // Collected at once, so that no refusal counts as unhandled meanwhile.
  const settled = Promise.all([Promise.allSettled(ofOne), Promise.allSettled(ofOthers)]);
  const last = await Promise.allSettled([ofOne[8], ofOthers[29]]);
  for (const one of last)
    expect(reasonOf(one)).toMatchObject({ code: 'rate_limited', retryAfterS: 5 });
  // A fold reads after a turn of the event loop.
  const readers = () => [...new Set(reads.map(({ owner }) => owner))];
  await expect.poll(readers).toEqual(['anna', 'other0']);
  letGo();
  const [one, others] = await settled;
  expect(one.filter(({ status }) => status === 'fulfilled')).toHaveLength(8);
  expect(others.filter(({ status }) => status === 'fulfilled')).toHaveLength(24);
});

test('Pages of large events are small', async () => {
  const { log, events, reads, letGo } = held(100);
  letGo();
  for (const event of events) Object.assign(event.data, { note: 'x'.repeat(500_000) });
  const replays = new Replays(FOLDS);
  await replays.at(log, { owner: 'anna', position: 100 }, async () => undefined);
  expect(Math.max(...reads.map(({ limit }) => limit))).toBeLessThanOrEqual(8);
});
