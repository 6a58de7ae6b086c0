import { describe, expect, it } from 'vitest';
import type { EventData } from '#contracts/registries/events.ts';
import { link } from '#src/links/link.decider.ts';
import { specify } from '../support/world/decider-spec.ts';

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
const spec = specify(link);

describe('A link', () => {
  it('A link is created once', () => {
    spec.given().when({ type: 'CreateLink', link: facts }).then(created);
    spec.given(created).when({ type: 'CreateLink', link: facts }).rejected('link_exists');
  });

  it('A link is disabled once, and only if it exists', () => {
    const after = spec
      .given(created)
      .when({ type: 'DisableLink', reason: 'Recalled' })
      .then(disabled);
    expect(after).toMatchObject({ status: 'disabled', version: 1 });
    spec.given().when({ type: 'DisableLink', reason: 'x' }).rejected('link_unknown');
  });

  it('A link rejects an impossible event', () => {
    expect(() => link.evolve(undefined, { ...disabled, at: 1 })).toThrow(/never created/);
  });
});
