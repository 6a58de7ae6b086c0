/** Hints for staff: leads with the same telephone or company domain. None of them rejects a lead. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freshKey, testApp, type TestApp } from '../support/world/app.ts';

const V1 = '/api/affiliate/v1';
const PHONE = '+442079460991';

let app: TestApp;
const keys: Record<string, string> = {};
type Lead = Record<string, unknown> & { id: string; state: string; alike: unknown[] };

beforeAll(async () => {
  app = await testApp();
  for (const owner of ['acme', 'rival']) keys[owner] = (await app.agent(owner)).key;
});
afterAll(() => app.close());

type Contact = { email: string; phone?: string };
type Content = { contact?: Contact; website?: string; external_id?: string };
const submit = async (owner: string, { contact, website, external_id }: Content): Promise<Lead> => {
  const consent = { basis: 'consent', obtained_at: '2026-11-01T09:00:00Z' };
  const { body } = await app.send({
    method: 'POST',
    url: `${V1}/leads`,
    key: keys[owner],
    payload: {
      external_id: external_id ?? freshKey(),
      company: { name: 'Shop', country: 'GB', ...(website !== undefined && { website }) },
      ...(contact && { contact: { name: 'Ada', ...contact }, consent }),
    },
    headers: { 'idempotency-key': freshKey() },
  });
  return body;
};
const alikeOf = async (id: string): Promise<unknown[]> =>
  ((await app.desk('GET', `/leads/${id}`)).body as Lead).alike;

describe('A lead', () => {
  it('A lead with the telephone or company domain of another lead is submitted, and shows it to staff', async () => {
    const first = await submit('acme', {
      contact: { email: 'ada@cornershop.example', phone: PHONE },
    });
    const same = await submit('rival', {
      contact: { email: 'bea@cornershop.example', phone: PHONE },
    });
    const website = 'https://www.cornershop.example/contact';
    const shop = await submit('rival', { website });
    expect([same.state, shop.state]).toEqual(['submitted', 'submitted']);
    const hint = ({ id: lead_id }: Lead, owner_id: string, shared: string[]) => ({
      lead_id,
      owner_id,
      state: 'submitted',
      same: shared,
    });
    expect(await alikeOf(first.id)).toEqual([
      hint(shop, 'rival', ['domain']),
      hint(same, 'rival', ['phone', 'domain']),
    ]);
    expect(await alikeOf(shop.id)).toEqual([
      hint(same, 'rival', ['domain']),
      hint(first, 'acme', ['domain']),
    ]);
    expect(JSON.stringify(same)).not.toContain('alike');
  });

  it('A lead at a provider of mailboxes for everybody has no hint of its domain', async () => {
    const [one, other] = [
      await submit('acme', { contact: { email: 'one@gmail.com' } }),
      await submit('rival', { contact: { email: 'other@gmail.com' } }),
    ];
    expect([await alikeOf(one.id), await alikeOf(other.id)]).toEqual([[], []]);
  });

  it('A lead that was erased, or that has another contact now, gives no hint', async () => {
    const at = (name: string) => ({ contact: { email: `${name}@florist.example` } });
    const kept = await submit('acme', at('ada'));
    const external_id = 'crm-changed';
    const changed = await submit('acme', { ...at('bea'), external_id });
    const erased = await submit('rival', at('eve'));
    expect(await alikeOf(kept.id)).toHaveLength(2);
    await app.desk('POST', `/subjects/${erased.id}/erase`, { reason: 'Asked' });
    expect(await alikeOf(kept.id)).toMatchObject([{ lead_id: changed.id }]);
    await submit('acme', { contact: { email: 'bea@bakery.example' }, external_id });
    expect(await alikeOf(kept.id)).toEqual([]);
  });

  it('A lead has no telephone and no domain in clear in the log', async () => {
    await submit('acme', { contact: { email: 'zoe@secret-shop.example', phone: '+442079460992' } });
    const events = await app.service.deps.log.readAll({ after: 0, limit: 100_000 });
    const text = JSON.stringify(events);
    expect(text).toContain('hint_keys');
    expect(text).not.toMatch(/secret-shop|442079460992/);
  });

  it('A lead whose amendment has no contact releases it, and the answer says so', async () => {
    const external_id = 'crm-released';
    const contact = { email: 'kim@released.example' };
    const first = await submit('acme', { external_id, contact });
    expect(first).not.toHaveProperty('claim_released');
    const amended = await submit('acme', { external_id });
    expect(amended).toMatchObject({ id: first.id, claim_released: true });
    expect(
      await submit('acme', { external_id, website: 'https://released.example' }),
    ).not.toHaveProperty('claim_released');
    expect(await submit('rival', { contact })).toMatchObject({ state: 'submitted' });
  });
});
