/** The log of one call: its appends claim the key, and require that the credential of the caller still allows them. */
import { expect, it } from 'vitest';
import { memoryEventLog } from '../support/memory-event-log.ts';
import type { CredentialState } from '#src/calls/authenticate.ts';
import { callLog } from '#src/calls/log.ts';
import { refuse } from '#src/shared/outcome.ts';
import type { ReadModelFollower } from '#src/ports/read-model.ts';
import { type EventLog, LogUnavailable, NO_STREAM, replaceAppends } from '#src/ports/event-log.ts';
import { systemIds } from '#src/system/ids.ts';
import { bound, several } from '../conformance/log-events.ts';

const ALLOWED = { refusal: undefined, streams: [] };
const REVOKED = { refusal: refuse('credential_revoked', 'The key was revoked.'), streams: [] };
const KEY = 'anna-key_1';
const following = (passed: () => Promise<boolean>) => ({ passed }) as unknown as ReadModelFollower;
const CALL = {
  ownerId: 'anna',
  actor: 'desk:t1',
  surface: 'rest',
  operation: 'moveLead',
  requestId: 'r1',
  at: 0,
} as const;
const append = (log: EventLog) => log.append('anna-lead_1', NO_STREAM, [bound('a')]);

type Parts = Pick<Parameters<typeof callLog>[0], 'log' | 'following' | 'confirmation'>;

const ids = systemIds(() => 0);
const nothingKept = { note: () => undefined, newest: () => undefined };

const checkedLog = (parts: Parts, credential: () => CredentialState) =>
  callLog({ ids, acknowledged: nothingKept, ...parts }, CALL, { credential });

it('An append to an embedded log looks the credential up once', async () => {
  const log = memoryEventLog();
  let lookups = 0;
  const current = () => {
    lookups += 1;
    return ALLOWED;
  };
  await append(checkedLog({ log, following: following(async () => true) }, current));
  expect(lookups).toBe(1);
});

it('An append of a revoked credential is refused and not sent', async () => {
  const log = memoryEventLog();
  const checked = checkedLog({ log, following: following(async () => true) }, () => REVOKED);
  await expect(append(checked)).rejects.toMatchObject({ refusal: REVOKED.refusal });
  expect(await log.head()).toMatchObject({ position: 0 });
});

it('An append is refused while the last confirmation of the credentials is older than a second', async () => {
  const log = memoryEventLog();
  let isRecent = false;
  const confirmation = { holds: () => true, isRecent: () => isRecent, awaited: () => undefined };
  const parts = { log, confirmation, following: following(async () => true) };
  const checked = checkedLog(parts, () => ALLOWED);
  await expect(append(checked)).rejects.toMatchObject({ refusal: { code: 'storage_unavailable' } });
  isRecent = true;
  expect(await append(checked)).toMatchObject({ outcome: 'appended' });
});

it('An append of a credential that changed meanwhile waits for the change and is decided by it', async () => {
  const log = memoryEventLog();
  await log.append(KEY, NO_STREAM, several(1));
  for (const after of [ALLOWED, REVOKED]) {
    let state: CredentialState = {
      refusal: undefined,
      streams: [{ stream: KEY, revision: NO_STREAM }],
    };
    const passed = async () => {
      state = after;
      return true;
    };
    const checked = checkedLog({ log, following: following(passed) }, () => state);
    const result = append(checked);
    if (after === REVOKED) await expect(result).rejects.toMatchObject({ refusal: REVOKED.refusal });
    else expect(await result).toMatchObject({ outcome: 'appended' });
  }
});

it('An append is refused when the process does not read the change of the credential in time', async () => {
  const log = memoryEventLog();
  await log.append(KEY, NO_STREAM, several(1));
  const state = { refusal: undefined, streams: [{ stream: KEY, revision: NO_STREAM }] };
  const checked = checkedLog({ log, following: following(async () => false) }, () => state);
  await expect(append(checked)).rejects.toMatchObject({
    refusal: { code: 'read_model_rebuilding' },
  });
});

const printed = (print: string): [string] => [print];
const KEYED = { ...CALL, idem: 'k1', fingerprints: printed('f1') };
const KEY_STREAM = 'anna-request_k1';
const keyedLog = (log: EventLog, call: typeof KEYED) =>
  callLog({ log, ids, acknowledged: nothingKept, following: following(async () => true) }, call, {
    keyStream: 'desk',
  });

it('The first append of a keyed call claims the key, and later ones do not', async () => {
  const log = memoryEventLog();
  const keyed = keyedLog(log, KEYED);
  expect(await log.readStream(KEY_STREAM)).toEqual([]);
  await append(keyed);
  await keyed.append('anna-lead_2', NO_STREAM, [bound('a')]);
  expect(await log.readStream(KEY_STREAM)).toMatchObject([
    { type: 'RequestBound', position: 1, data: { stream: 'desk', fingerprint: 'f1' } },
  ]);
});

it('An append with the key of another request is refused and not sent', async () => {
  const log = memoryEventLog();
  await append(keyedLog(log, KEYED));
  const other = keyedLog(log, { ...KEYED, fingerprints: printed('f2') });
  await expect(other.append('anna-lead_2', NO_STREAM, [bound('a')])).rejects.toMatchObject({
    refusal: { code: 'idempotency_key_reused' },
  });
  expect(await log.readStream('anna-lead_2')).toEqual([]);
});

const failing = (applied: 'unknown' | 'no') => async () => {
  throw new LogUnavailable('fault', applied, 'away');
};

it.each([
  ['was stored', true, undefined],
  ['conflicted', false, async () => ({ outcome: 'conflict' }) as const],
  [
    'conflicted after a part of it',
    true,
    async () => ({ outcome: 'conflict', isPartial: true }) as const,
  ],
  ['failed before it reached the log', false, failing('no')],
  ['may have been stored', true, failing('unknown')],
])(
  'The log of a call whose append %s knows whether it may have written: %s',
  async (_case, hasWritten, appendAll) => {
    const log = memoryEventLog();
    const called = checkedLog(
      {
        log: appendAll ? replaceAppends(log, appendAll) : log,
        following: following(async () => true),
      },
      () => ALLOWED,
    );
    expect(called.hasWritten()).toBe(false);
    await append(called).catch(() => undefined);
    expect(called.hasWritten()).toBe(hasWritten);
  },
);
