/** Amendments that change nothing, and texts that an amendment repeats. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StoredEvent } from '#src/ports/event-log.ts';
import { leadIdOf, streamOf } from '#src/writing/streams.ts';
import { freshKey, testApp, type TestApp } from '../support/world/app.ts';

let app: TestApp;
let key: string;

beforeAll(async () => {
  app = await testApp();
  ({ key } = await app.agent('acme'));
});
afterAll(() => app.close());

const values = (external_id: string, over: object = {}) => ({
  external_id,
  company: { name: 'Corner Shop', country: 'GB' },
  contact: { name: 'Ada Byron', email: `${external_id}@buyer.example` },
  consent: { basis: 'consent', obtained_at: '2026-11-19T09:00:00Z' },
  interest: { note: 'Wants mugs', categories: ['Gifts'] },
  metadata: { shelf: 1, aisle: 'b' },
  ...over,
});
const submit = (payload: object, idempotencyKey = freshKey()) =>
  app.send({
    method: 'POST',
    url: '/api/affiliate/v1/leads',
    key,
    payload,
    headers: { 'idempotency-key': idempotencyKey },
  });
const eventsOf = (external_id: string): Promise<StoredEvent[]> =>
  app.service.deps.log.readStream(streamOf('acme', 'lead', leadIdOf('acme', external_id)));
const typesOf = async (external_id: string): Promise<string[]> =>
  (await eventsOf(external_id)).map(({ type }) => type);
const eventsAfter = async (position: number): Promise<string[]> =>
  (await app.service.deps.log.readAll({ after: position, limit: 100 })).map(({ type }) => type);

describe('An amendment with the values that the lead has', () => {
  it("An amendment with the lead's current values adds no event to the lead, and answers with the lead as it is", async () => {
    const first = await submit(values('same'));
    const { position } = await app.service.deps.log.head();
    const again = await submit(values('same'));
    expect(first.status).toBe(201);
    expect(again).toMatchObject({ status: 200, text: first.text });
    expect(again.headers).not.toHaveProperty('idempotent-replayed');
    expect(await typesOf('same')).toEqual(['LeadSubmitted']);
    expect(await eventsAfter(position)).toEqual(['RequestBound']);
  });

  it("An amendment with the lead's current values claims its key, so that a retry replays the answer and another request is refused", async () => {
    await submit(values('claimed'));
    const idempotencyKey = freshKey();
    const unchanged = await submit(values('claimed'), idempotencyKey);
    const renamed = values('claimed', { company: { name: 'Other Shop', country: 'GB' } });
    expect(await submit(renamed)).toMatchObject({ status: 200, body: { version: 1 } });
    const { position } = await app.service.deps.log.head();
    const retry = await submit(values('claimed'), idempotencyKey);
    expect(retry).toMatchObject({ status: 200, text: unchanged.text });
    expect(retry.headers['idempotent-replayed']).toBe('true');
    expect(await submit(renamed, idempotencyKey)).toMatchObject({
      body: { code: 'idempotency_key_reused' },
    });
    expect(await eventsAfter(position)).not.toContain('LeadAmended');
    expect(await typesOf('claimed')).toEqual(['LeadSubmitted', 'LeadAmended']);
  });

  it("An amendment with the lead's current values adds no event if its members are in another order", async () => {
    const { id } = (await submit(values('ordered'))).body as { id: string };
    const { metadata, ...rest } = values('ordered');
    expect(Object.keys(metadata)).toEqual(['shelf', 'aisle']);
    const reordered = { metadata: { aisle: 'b', shelf: 1 }, ...rest };
    expect(await submit(reordered)).toMatchObject({ status: 200, body: { id, version: 0 } });
    expect(await typesOf('ordered')).toEqual(['LeadSubmitted']);
  });
});

describe('An amendment that changes something', () => {
  it.each([
    ['contact', { contact: { name: 'Ada King', email: 'changed-0@buyer.example' } }],
    ['note', { interest: { note: 'Wants cups', categories: ['Gifts'] } }],
    ['metadata', { metadata: { shelf: 2, aisle: 'b' } }],
    ['interest, by omission', { interest: undefined }],
  ])('An amendment with changes appends an event when it changes the %s', async (name, over) => {
    const external_id = `changed-${name.length}`;
    await submit(values(external_id));
    expect(await submit(values(external_id, over))).toMatchObject({
      status: 200,
      body: { version: 1 },
    });
    expect(await typesOf(external_id)).toEqual(['LeadSubmitted', 'LeadAmended']);
  });

  it('An amendment with changes keeps the ciphertext of each text that it repeats', async () => {
    await submit(values('kept'));
    await submit(values('kept', { interest: { note: 'Wants cups' } }));
    await submit(values('kept', { interest: { note: 'Wants cups', quantity_hint: 3 } }));
    type Texts = { contact: string; interest: { note: string } };
    const [first, second, third] = (await eventsOf('kept')).map(({ data }) => data as Texts);
    expect(second?.contact).toBe(first?.contact);
    expect(second?.interest.note).not.toBe(first?.interest.note);
    expect(third?.interest.note).toBe(second?.interest.note);
  });
});
