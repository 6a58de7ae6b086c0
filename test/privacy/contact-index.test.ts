/** Contacts that an earlier version stored are indexed by mailbox, so that the records of a person are found. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { systemCall } from '#src/calls/system-call.ts';
import { indexContacts } from '#src/privacy/index-contacts.ts';
import { LogUnavailable, type StoredEvent } from '#src/ports/event-log.ts';
import { HANG_MS } from '../support/hang.ts';
import { testApp, type TestApp } from '../support/world/app.ts';
import { atDesk } from '../support/world/desk-scenes.ts';

const EMAIL = 'ada@shop.example';
/** More than the pass reads at once. */
const MANY = 120;

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.close());

const leadOf = (n: number): string => `led_${String(n).padStart(24, '0')}`;

/** Appends what an earlier version stored of a lead: its contact without keys of the mailbox. */
const storeOldLead = async (n: number): Promise<void> => {
  const { log, ids, vault, clock } = app.service.deps;
  const lead_id = leadOf(n);
  const data = {
    lead_id,
    agent_id: 'agt_1',
    external_id: `x-${n}`,
    source: { kind: 'agent' },
    dims: {},
    claim_expires_at: clock.now() + 1_000,
    company: { name: 'Shop', country: 'GB' },
    contact: await vault.seal(lead_id, JSON.stringify({ name: 'Ada', email: EMAIL })),
  };
  const meta = { at: clock.now(), actor: 'agt_1', surface: 'rest', operation: 'submitLead' };
  await log.append(`acme-lead_${lead_id.slice(4)}`, -1, [
    { id: ids.uuid(), type: 'LeadSubmitted', data, meta: { ...meta, request: 'r', v: 1 } },
  ]);
};

const caughtUp = async (): Promise<void> => {
  const { log, following } = app.service.deps;
  await following.passed((await log.head()).position, HANG_MS);
};
const find = async () => {
  await caughtUp();
  const body = { mailbox: EMAIL, proof: 'Ticket 1' };
  return (await atDesk(app, { path: '/privacy/find', body })).body as {
    data: { id: string }[];
    complete: boolean;
    unindexed: number;
  };
};
const indexedIn = (events: readonly StoredEvent[]): string[] =>
  events.flatMap(({ type, stream }) => (type === 'ContactIndexed' ? [stream] : []));

const run = (signal = new AbortController().signal): Promise<number> => {
  const { deps } = app.service;
  return indexContacts(deps, systemCall(deps, 'indexContacts', { ownerId: '', signal }));
};

/** Appends a profile as an earlier version stored it, without keys of its mailbox. */
const storeOldProfile = async (): Promise<string> => {
  const { log, ids, vault, clock } = app.service.deps;
  const sealed_for = `own_${'0'.repeat(32)}`;
  const profile = { name: 'Ada', postal_address: 'London', mailbox: EMAIL };
  const data = {
    sealed_for,
    sealed_profile: await vault.seal(sealed_for, JSON.stringify(profile)),
  };
  const meta = { at: clock.now(), actor: 'desk:1', surface: 'desk', operation: 'setOwnerProfile' };
  await log.append('acme-owner_profile', -1, [
    { id: ids.uuid(), type: 'OwnerProfileSet', data, meta: { ...meta, request: 'r', v: 1 } },
  ]);
  return sealed_for;
};

describe('The index of contacts', () => {
  it('says that it is incomplete, continues after a failure, and then finds every record once', async () => {
    for (let n = 0; n < MANY; n += 1) await storeOldLead(n);
    expect(await find()).toMatchObject({ data: [], complete: false, unindexed: MANY });

    const { log } = app.service.deps;
    expect(await run(AbortSignal.abort())).toBe(0);
    const appendAll = log.appendAll.bind(log);
    const noRoom = new LogUnavailable('full', 'no', 'no room');
    vi.spyOn(log, 'appendAll').mockImplementationOnce(appendAll).mockRejectedValueOnce(noRoom);
    await expect(run()).rejects.toThrow(noRoom);
    const half = await find();
    expect([half.complete, half.unindexed]).toEqual([false, MANY - 100]);

    expect(await run()).toBe(MANY - 100);
    const { data, ...rest } = await find();
    expect(data.map(({ id }) => id).toSorted()).toEqual(
      Array.from({ length: MANY }, (_, n) => leadOf(n)),
    );
    expect(rest).toMatchObject({ complete: true, unindexed: 0 });
    expect(await run()).toBe(0);
    expect(indexedIn(await log.readAll({ after: 0, limit: 10_000 }))).toHaveLength(MANY);
  });

  it('has no key of an erased contact, and waits for a key that a restored vault may have', async () => {
    const { vault } = app.service.deps;
    await storeOldLead(MANY);
    await vault.destroy(leadOf(MANY));
    await caughtUp();
    expect(await run()).toBe(1);
    expect(await find()).toMatchObject({ complete: true });
    expect((await find()).data.map(({ id }) => id)).not.toContain(leadOf(MANY));

    await storeOldLead(MANY + 1);
    await caughtUp();
    vi.spyOn(vault, 'unseal').mockResolvedValueOnce([undefined]);
    expect(await run()).toBe(0);
    expect(await find()).toMatchObject({ complete: false, unindexed: 1 });
  });

  it('has the profiles that an earlier version stored', async () => {
    const id = await storeOldProfile();
    await caughtUp();
    await run();
    expect((await find()).data.map((one) => one.id)).toContain(id);
  });
});
