/** The stand-in follows the rules of a real server, and two that no test can provoke on one. */
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

describe('The stand-in', () => {
  let client: EventStoreDBClient;
  beforeAll(() => {
    client = EventStoreDBClient.connectionString(server().url);
  });
  afterAll(() => client.dispose());
  /** Appends an event; returns its revision, or the type of the error. */
  const put = (id: string): Promise<unknown> =>
    client
      .appendToStream('anna-lead_1', jsonEvent({ id, type: 'T', data: {} }), {
        expectedRevision: 'no_stream',
      })
      .then(
        ({ nextExpectedRevision }) => Number(nextExpectedRevision),
        (error: { type?: string }) => error.type,
      );

  test('answers the repetition of an uncommitted append only with a timeout', async () => {
    const id = freshId();
    await server().tell({ name: 'set', settings: { writeTimeoutMs: 100 } });
    await server().tell({ name: 'hold' });
    const [original, repeated] = [put(id), put(id)];
    expect(await repeated).toBe('deadline-exceeded');
    expect(await original).toBe('deadline-exceeded');
    await server().tell({ name: 'release' });
    expect(await put(id)).toBe(0);
  });

  test('compares a deadline with its own clock', async () => {
    await server().tell({ name: 'set', settings: { skewMs: 60_000 } });
    expect(await put(freshId())).toBe('deadline-exceeded');
  });
});
