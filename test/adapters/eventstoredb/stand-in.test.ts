/** The stand-in keeps the rules that a real server keeps, and those that no test can make one show. */
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rulesConformance } from '../../conformance/eventstoredb-rules.ts';
import { onStandIn } from '../../support/eventstoredb/eventstoredb-logs.ts';
import { freshId } from '../../conformance/log-events.ts';

const { server } = onStandIn();
rulesConformance(
  'the stand-in',
  () => server().url,
  () => server().tell({ name: 'scavenge' }),
);

describe('the stand-in', () => {
  let client: EventStoreDBClient;
  beforeAll(() => {
    client = EventStoreDBClient.connectionString(server().url);
  });
  afterAll(() => client.dispose());
  /** Its revision, or the type of the refusal. */
  const put = (id: string): Promise<unknown> =>
    client
      .appendToStream('anna-lead_1', jsonEvent({ id, type: 'T', data: {} }), {
        expectedRevision: 'no_stream',
      })
      .then(
        ({ nextExpectedRevision }) => Number(nextExpectedRevision),
        (error: { type?: string }) => error.type,
      );

  test('answers a repetition of what is not committed only when it is too late', async () => {
    const id = freshId();
    await server().tell({ name: 'set', settings: { writeTimeoutMs: 100 } });
    await server().tell({ name: 'hold' });
    const [original, repeated] = [put(id), put(id)];
    expect(await repeated).toBe('deadline-exceeded');
    expect(await original).toBe('deadline-exceeded');
    await server().tell({ name: 'release' });
    expect(await put(id)).toBe(0);
  });

  test('takes a deadline for a time on its own clock', async () => {
    await server().tell({ name: 'set', settings: { skewMs: 60_000 } });
    expect(await put(freshId())).toBe('deadline-exceeded');
  });
});
