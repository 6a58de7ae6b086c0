/** The keys that go with a copied log: of every text that an event can have sealed. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { sealed } from '#contracts/event-fields.ts';
import { EVENTS } from '#contracts/registries/events.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import { sqliteKeyVault } from '#src/stores/sqlite/keys/key-vault.ts';
import { copyKeys } from '#src/transfer/copy-log.ts';

/** Makes of a schema all data with one sealed text, at each place where it can have one. */
const placesIn = (schema: unknown): ((text: string) => unknown)[] => {
  if (schema === sealed) return [(text) => text];
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return placesIn(schema.unwrap());
  if (schema instanceof z.ZodArray)
    return placesIn(schema.element).map((make) => (text) => [make(text)]);
  if (schema instanceof z.ZodRecord)
    return placesIn(schema.valueType).map((make) => (text) => ({ a: make(text) }));
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(placesIn);
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).flatMap(([name, member]) =>
    placesIn(member).map((make) => (text: string) => ({ [name]: make(text) })),
  );
};

const PLACES = Object.entries(EVENTS).flatMap(([type, schema]) =>
  placesIn(schema).map((make) => ({ type, make })),
);

/** A log that has these events, in pages of `size`. */
const logOf = (given: readonly { type: string; data: unknown }[], size: number) => {
  const events = given.map((event, at) => ({ ...event, position: at + 1 }) as StoredEvent);
  return {
    async readAll({ after, types }: { after: number; types?: readonly string[] }) {
      const later = events.filter(
        ({ position, type }) => position > after && (types?.includes(type) ?? true),
      );
      return later.slice(0, size);
    },
  };
};

const vaultKey = (byte: number) => [Buffer.alloc(32, byte)];

it('Every sealed text of every type of event opens in the copy, whatever its subject is', async () => {
  const types = new Set(PLACES.map(({ type }) => type));
  for (const type of ['ActivityRecorded', 'DeviceLoginStarted', 'LeadAmended', 'SignInStarted'])
    expect(types).toContain(type);
  const from = sqliteKeyVault(':memory:', vaultKey(1));
  const to = sqliteKeyVault(':memory:', vaultKey(2));
  const texts: string[] = [];
  const events: { type: string; data: unknown }[] = [];
  for (const [at, { type, make }] of PLACES.entries()) {
    const text = (await from.seal(`sub_${at}`, `${type} ${at}`)) ?? '';
    texts.push(text);
    events.push({ type, data: make(text) }, { type, data: make(text) });
  }
  events.push({ type: 'LinkCreated', data: { campaign: 's1.Not a sealed text', title: 's1.x' } });
  const copied = await copyKeys(logOf(events, 3), { from, to });
  expect(copied).toEqual({ subjects: PLACES.length, destroyed: 0, differing: [] });
  expect(await to.unseal(texts)).toEqual(PLACES.map(({ type }, at) => `${type} ${at}`));
  await Promise.all([from.close(), to.close()]);
});

it('A subject that was erased gets no key in the copy, although no event has a text of it', async () => {
  const from = sqliteKeyVault(':memory:', vaultKey(1));
  const to = sqliteKeyVault(':memory:', vaultKey(2));
  const text = (await from.seal('led_1', 'Ada')) ?? '';
  const events = [
    { type: 'LeadSubmitted', data: { contact: text } },
    { type: 'SubjectErased', data: { subject: 'led_1' } },
    { type: 'SubjectErased', data: { subject: 'hnd_1' } },
  ];
  const copied = await copyKeys(logOf(events, 1), { from, to });
  expect(copied).toEqual({ subjects: 2, destroyed: 2, differing: [] });
  expect([await to.knows('led_1'), await to.knows('hnd_1')]).toEqual(['destroyed', 'destroyed']);
  await Promise.all([from.close(), to.close()]);
});
