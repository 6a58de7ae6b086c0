/** The log of one call, whose appends require that the credential of the caller still allows them. */
import { expect, it } from 'vitest';
import { memoryEventLog } from '../support/memory-event-log.ts';
import { credentialCheckingLog, type CredentialState } from '#src/calls/authenticate.ts';
import { refuse } from '#src/shared/outcome.ts';
import type { ReadModelFollower } from '#src/ports/read-model.ts';
import { type EventLog, NO_STREAM } from '#src/ports/event-log.ts';
import { bound, several } from '../conformance/log-events.ts';

const ALLOWED = { refusal: undefined, streams: [] };
const REVOKED = { refusal: refuse('credential_revoked', 'The key was revoked.'), streams: [] };
const KEY = 'anna-key_1';
const following = (passed: () => Promise<boolean>) => ({ passed }) as unknown as ReadModelFollower;
const append = (log: EventLog) => log.append('anna-lead_1', NO_STREAM, [bound('a')]);

it('An append to an embedded log looks the credential up once', async () => {
  const log = memoryEventLog();
  let lookups = 0;
  const current = () => {
    lookups += 1;
    return ALLOWED;
  };
  await append(credentialCheckingLog({ log, following: following(async () => true) }, current));
  expect(lookups).toBe(1);
});

it('An append of a revoked credential is refused and not sent', async () => {
  const log = memoryEventLog();
  const checked = credentialCheckingLog(
    { log, following: following(async () => true) },
    () => REVOKED,
  );
  await expect(append(checked)).rejects.toMatchObject({ refusal: REVOKED.refusal });
  expect(await log.head()).toMatchObject({ position: 0 });
});

it('An append is refused while the last confirmation of the credentials is older than a second', async () => {
  const log = memoryEventLog();
  let isRecent = false;
  const confirmation = { holds: () => true, isRecent: () => isRecent, awaited: () => undefined };
  const parts = { log, confirmation, following: following(async () => true) };
  const checked = credentialCheckingLog(parts, () => ALLOWED);
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
    const checked = credentialCheckingLog({ log, following: following(passed) }, () => state);
    const result = append(checked);
    if (after === REVOKED) await expect(result).rejects.toMatchObject({ refusal: REVOKED.refusal });
    else expect(await result).toMatchObject({ outcome: 'appended' });
  }
});

it('An append is refused when the process does not read the change of the credential in time', async () => {
  const log = memoryEventLog();
  await log.append(KEY, NO_STREAM, several(1));
  const state = { refusal: undefined, streams: [{ stream: KEY, revision: NO_STREAM }] };
  const checked = credentialCheckingLog(
    { log, following: following(async () => false) },
    () => state,
  );
  await expect(append(checked)).rejects.toMatchObject({
    refusal: { code: 'read_model_rebuilding' },
  });
});
