import { describe, expect, it } from 'vitest';
import type { EventData } from '#contracts/registries/events.ts';
import { link, type LinkCommand, linkStatusAt, nameOfLink } from '#src/links/link.decider.ts';
import { specify } from '../support/world/decider-spec.ts';

type UpdateOf = Extract<LinkCommand, { type: 'UpdateLink' }>;

const facts: EventData<'LinkCreated'> = {
  link_id: 'lnk_1',
  agent_id: 'agt_1',
  target: { kind: 'search', ref: 'mug' },
  destination_url: 'https://t.example/s?q=mug',
  code: 'abc',
  short_url: 'https://t.example/l/abc',
  dims: {},
};
const created = { type: 'LinkCreated' as const, data: facts };
const disabled = {
  type: 'LinkDisabled' as const,
  data: { link_id: 'lnk_1', code: 'abc', reason: 'Recalled' },
};
const updated = (change: UpdateOf['change']) => ({
  type: 'LinkUpdated' as const,
  data: { link_id: 'lnk_1', code: 'abc', agent_id: 'agt_1', ...change },
});
const mug = { target: { kind: 'product' as const, ref: 'prd_1' }, name: 'Mug' };
const createdForMug = { ...created, data: { ...facts, ...mug } };
const spec = specify(link);

describe('A link', () => {
  it('A link is created once', () => {
    spec.given().when({ type: 'CreateLink', link: facts }).then(created);
    spec
      .given(created)
      .when({ type: 'CreateLink', link: facts })
      .rejected('link_exists', /link lnk_1 exists/);
  });

  it('A link is disabled once, and only if it exists', () => {
    const after = spec
      .given(created)
      .when({ type: 'DisableLink', reason: 'Recalled' })
      .then(disabled);
    expect(after).toMatchObject({ status: 'disabled', version: 1 });
    const again = spec.given(created, disabled).when({ type: 'DisableLink', reason: 'Again' });
    again.then();
    const missing = spec.given().when({ type: 'DisableLink', reason: 'Recalled' });
    missing.rejected('link_unknown', /no such link/);
  });

  it('A link rejects an impossible event', () => {
    for (const event of [disabled, updated({ name: 'Mug' })])
      expect(() => link.evolve(undefined, { ...event, at: 1 })).toThrow(
        `${event.type} on a link that was never created`,
      );
  });

  it('A link is updated with what is given, and names itself and its agent in the event', () => {
    for (const change of [
      { expires_at: 9_000 },
      { dims: { campaign: 'spring' } },
      { ...mug, destination_url: 'https://t.example/p/mug' },
    ])
      expect(link.decide(spec.given(created).state, { type: 'UpdateLink', change })).toEqual({
        accepted: true,
        events: [updated(change)],
      });
  });

  it('A link keeps what an update does not give, and counts the update', () => {
    const history = [createdForMug, updated({ expires_at: 9_000 })];
    expect(spec.given(...history).state).toStrictEqual({
      ...facts,
      ...mug,
      expires_at: 9_000,
      status: 'active',
      created_at: 1_000,
      updated_at: 1_001,
      version: 1,
    });
    expect(spec.given(...history, updated({ dims: { campaign: 'spring' } })).state).toMatchObject({
      dims: { campaign: 'spring' },
      expires_at: 9_000,
      updated_at: 1_002,
      version: 2,
    });
  });

  it('A link to another target loses the name of its former product, if the new one has no name', () => {
    const shelf = { kind: 'category' as const, ref: 'mugs' };
    const moved = spec.given(createdForMug, updated({ target: shelf })).state;
    expect(moved).toMatchObject({ target: shelf });
    expect(moved).not.toHaveProperty('name');
    const plate = { target: { kind: 'product' as const, ref: 'prd_2' }, name: 'Plate' };
    expect(spec.given(createdForMug, updated(plate)).state).toMatchObject(plate);
  });

  it('A link is updated only if it exists and is not disabled', () => {
    const update: LinkCommand = { type: 'UpdateLink', change: { expires_at: 9_000 } };
    spec
      .given()
      .when(update)
      .rejected('link_unknown', /no such link/);
    spec
      .given(created, disabled)
      .when(update)
      .rejected('link_stopped', /disabled for good; create another one/);
  });
});

describe('The status of a link', () => {
  const { state: lasting } = spec.given(created);
  const { state: ending } = spec.given(created, updated({ expires_at: 9_000 }));
  const { state: stopped } = spec.given(created, updated({ expires_at: 9_000 }), disabled);

  it('The status of a link is expired from its expiry on', () => {
    expect([8_999, 9_000, 9_001].map((at) => ending && linkStatusAt(ending, at))).toEqual([
      'active',
      'expired',
      'expired',
    ]);
  });

  it('The status of a link without an expiry stays active', () => {
    expect(lasting && linkStatusAt(lasting, Number.MAX_SAFE_INTEGER)).toBe('active');
  });

  it('The status of a link that is disabled stays so after its expiry', () => {
    expect([8_999, 9_000].map((at) => stopped && linkStatusAt(stopped, at))).toEqual([
      'disabled',
      'disabled',
    ]);
  });
});

describe('The name of a link', () => {
  const nameOf = (some: Partial<typeof facts>): string | undefined => {
    const { state } = spec.given({ ...created, data: { ...facts, ...some } });
    return state && nameOfLink(state);
  };

  it('The name of a link is the title of its product', () => {
    expect(nameOf(mug)).toBe('Mug');
  });

  it('The name of a link to a product that had no title is unknown', () => {
    expect(nameOf({ target: mug.target })).toBeUndefined();
  });

  it.each([
    ['a search', 'search'],
    ['a category', 'category'],
  ] as const)('The name of a link to %s is what it refers to', (_name, kind) => {
    expect(nameOf({ target: { kind, ref: 'mug' } })).toBe('mug');
  });
});
