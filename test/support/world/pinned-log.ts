/**
 * A small log that never changes, with every type of event that a read model folds, a clock that steps
 * back, and records that end in each possible way. pinned-rows.test.ts pins its rows.
 */
import type { EventData } from '#contracts/events/index.ts';
import { type Given, happened, MIDNIGHT } from './fold.ts';
import { MAIL, OUTREACH, OWNERS, PUSH, RECORD, TASKS } from './pinned-outreach.ts';
import { HOUR_MS, story, type Told } from './pinned-story.ts';

const DIMS = {
  campaign: 'autumn',
  channel: 'email',
  sub_ids: ['a', 'b'],
  product_id: 'prd_1',
  category: 'Mugs',
};
const EUR = [{ amount: 7_200, currency: 'EUR' }];
const BY = { agent_id: 'agt_1', dims: DIMS };

const LINKS = [
  story(
    'anna-link_1',
    [
      'LinkCreated',
      {
        link_id: 'lnk_1',
        agent_id: 'agt_1',
        target: { kind: 'product', ref: 'prd_1' },
        destination_url: 'https://shop.example/p/1',
        code: 'mugs',
        short_url: 'https://t.example/r/mugs',
        slug: 'mugs',
        external_id: 'ext-1',
        dims: DIMS,
        utm: { source: 'letter' },
        expires_at: MIDNIGHT + 90 * HOUR_MS,
        expired_url: 'https://shop.example/over',
        metadata: { shelf: 3, new: true, by: 'ada' },
      },
    ],
    ['LinkDisabled', { link_id: 'lnk_1', code: 'mugs', reason: 'over' }],
  ),
  story('bert-link_2', [
    'LinkCreated',
    {
      link_id: 'lnk_2',
      agent_id: 'agt_2',
      target: { kind: 'search', ref: 'candles' },
      destination_url: 'https://shop.example/s',
      code: 'c0de2',
      short_url: 'https://t.example/r/c0de2',
      dims: {},
    },
  ]),
];

const visit = (visitor: string, more: Partial<EventData<'VisitRecorded'>> = {}): Told => [
  'VisitRecorded',
  { link_id: 'lnk_1', ...BY, visitor, device: 'mobile', trigger: 'link', ...more },
];

const VISITS = [
  story(
    'anna-visits_mugs.p.0',
    visit('v1', { country: 'DE', referrer_host: 'news.example' }),
    visit('v1', { country: 'DE' }),
    visit('v2', { signals: ['bot'], trigger: 'qr' }),
    visit('v0', { country: 'FR', signals: [] }),
    ['VisitsSummed', { link_id: 'lnk_1', ...BY, visits: 500 }],
  ),
];

const line = (n: number, more: Partial<EventData<'HandoffCreated'>['lines'][number]> = {}) => ({
  line_id: `lin_${n}`,
  product_id: `prd_${n}`,
  sku: `MUG-${n}`,
  title: `Mug ${n}`,
  product_revision: n,
  quantity: 12 * n,
  unit_price: 600,
  tier_min_quantity: 12,
  currency: 'EUR',
  ...more,
});
const list = (n: number, more: Partial<EventData<'HandoffCreated'>> = {}): Told => [
  'HandoffCreated',
  {
    handoff_id: `hnd_${n}`,
    agent_id: 'agt_1',
    title: `List ${n}`,
    locale: 'en',
    dims: DIMS,
    buyer: { company: 'Harbour Café', country: 'DE', email: `s1.hnd_${n}.mail` },
    lines: [line(1), line(2, { warnings: ['below_moq'] })],
    totals: EUR,
    token_hash: `hash${n}`,
    review_origin: 'https://t.example',
    expires_at: MIDNIGHT + 30 * 24 * HOUR_MS,
    ...more,
  },
];
const ofList = (n: number) => ({ handoff_id: `hnd_${n}`, ...BY, link_id: 'lnk_1' });
const opened = (n: number): Told => ['HandoffOpenedByBuyer', ofList(n)];

const HANDOFFS = [
  story(
    'anna-handoff_9',
    [
      'BuyerListCreated',
      {
        ...ofList(9),
        visit_id: 'v-9',
        alternatives: [{ agent_id: 'agt_2', link_id: 'lnk_1', visit_id: 'v-8' }],
        locale: 'en',
        lines: [line(1)],
        totals: EUR,
        token_hash: 'hash9',
        review_origin: 'https://t.example',
        expires_at: MIDNIGHT + 30 * 24 * HOUR_MS,
      },
    ],
    ['HandoffDeclinedByBuyer', { ...ofList(9), sealed_reason: 's1.hnd_9.why' }],
  ),
  story(
    'anna-handoff_1',
    list(1, {
      sealed_note_to_buyer: 's1.hnd_1.note',
      sealed_line_notes: 's1.hnd_1.lines',
      link_id: 'lnk_1',
      external_id: 'ext-1',
      task_id: 'tsk_1',
      context_id: 'ctx_1',
      metadata: { round: 2 },
    }),
    opened(1),
    opened(1),
    [
      'HandoffListRevisedByBuyer',
      { ...ofList(1), lines: [line(1, { quantity: 24 })], totals: EUR },
    ],
    [
      'RfqSubmittedByBuyer',
      {
        ...ofList(1),
        list_revision: 2,
        totals: EUR,
        contact: 's1.hnd_1.contact',
        consent_text: 'Yes',
        consented_at: MIDNIGHT,
        news: [{ line_id: 'lin_1', price: { amount: 650, currency: 'EUR' }, warnings: ['stock'] }],
      },
    ],
  ),
  story(
    'anna-handoff_2',
    list(2, { note_to_buyer: 'As of old', lines: [line(1, { note: 'in clear' })] }),
    ['HandoffDeclinedByBuyer', { ...ofList(2), sealed_reason: 's1.hnd_2.why' }],
  ),
  story('anna-handoff_3', list(3), [
    'HandoffWithdrawn',
    { handoff_id: 'hnd_3', reason: 'As of old' },
  ]),
  story(
    'bert-handoff_4',
    list(4, { agent_id: 'agt_2', buyer: {}, dims: {} }),
    opened(4),
    [
      'HandoffListRevisedByBuyer',
      { ...ofList(4), changed: [line(2, { quantity: 48 })], removed: ['lin_1'], totals: EUR },
    ],
    ['HandoffInvalidated', { handoff_id: 'hnd_4', sealed_reason: 's1.hnd_4.why' }],
  ),
  story('anna-handoff_5', list(5), ['SubjectErased', { subject: 'hnd_5', reason: 'asked' }]),
];

const claim = (n: number, more: Partial<EventData<'LeadSubmitted'>> = {}): Told => [
  'LeadSubmitted',
  {
    lead_id: `led_${n}`,
    agent_id: 'agt_1',
    external_id: `ext-${n}`,
    source: { kind: 'link', ref: 'lnk_1' },
    link_id: 'lnk_1',
    dims: DIMS,
    claim_expires_at: MIDNIGHT + 90 * 24 * HOUR_MS,
    company: { name: 'Harbour Café', country: 'DE' },
    contact: `s1.led_${n}.contact`,
    ...more,
  },
];
const ofLead = (n: number) => ({ lead_id: `led_${n}`, ...BY, link_id: 'lnk_1' });

const LEADS = [
  story(
    'anna-lead_1',
    claim(1, {
      source: { kind: 'handoff', ref: 'hnd_1' },
      handoff_id: 'hnd_1',
      consent: { basis: 'consent', obtained_at: '2026-11-20T00:00:00Z', text_version: '2' },
      interest: {
        product_ids: ['prd_1'],
        categories: ['Mugs'],
        quantity_hint: 9,
        note: 's1.led_1.n',
      },
      metadata: { fair: 'Ghent' },
    }),
    [
      'LeadAmended',
      {
        lead_id: 'led_1',
        company: { name: 'Harbour Cafés', country: 'NL', website: 'https://harbour.example' },
        left_out: ['interest', 'metadata'],
        source: { kind: 'link', ref: 'lnk_1' },
        link_id: 'lnk_1',
      },
    ],
    ['LeadAccepted', ofLead(1)],
    ['LeadContacted', ofLead(1)],
    ['LeadQualified', { ...ofLead(1), sealed_reason: 's1.led_1.why' }],
    ['LeadRfqObserved', { ...ofLead(1), handoff_id: 'hnd_1' }],
    ['LeadWon', { ...ofLead(1), value: { amount: 90_000, currency: 'EUR' } }],
  ),
  story('anna-lead_2', claim(2), ['LeadRejected', { ...ofLead(2), reason: 'As of old' }]),
  story('anna-lead_3', claim(3), ['LeadMarkedDuplicate', { ...ofLead(3), reason: 'duplicate' }]),
  story(
    'anna-lead_4',
    claim(4, { source: { kind: 'manual' } }),
    ['LeadAccepted', ofLead(4)],
    ['LeadContacted', ofLead(4)],
    ['LeadUnqualified', ofLead(4)],
  ),
  story('bert-lead_5', claim(5), ['LeadAccepted', ofLead(5)], ['LeadLost', ofLead(5)]),
  story('anna-lead_6', claim(6), [
    'LeadWithdrawn',
    { ...ofLead(6), sealed_reason: 's1.led_6.why' },
  ]),
  story('anna-lead_7', claim(7), ['SubjectErased', { subject: 'led_7', reason: 'asked' }]),
];

const wanted = (agent_id: string, ...scopes: string[]): Told => [
  'AccessRequested',
  { agent_id, name: 'Scout', purpose: 'to scout', scopes },
];

const ACCESS = [
  story(
    'anna-agent_1',
    wanted('agt_1', 'links:write', 'leads:write'),
    ['AccessApproved', { agent_id: 'agt_1', scopes: ['links:write'], reason: 'some' }],
    wanted('agt_1', 'links:write', 'products:read'),
    ['AccessDenied', { agent_id: 'agt_1', reason: 'no more' }],
    wanted('agt_1', 'products:read'),
    ['AgentSuspended', { agent_id: 'agt_1', reason: 'to look' }],
    ['AgentReinstated', { agent_id: 'agt_1', reason: 'looked' }],
  ),
  story('bert-agent_2', wanted('agt_2', 'links:write'), [
    'AccessDenied',
    { agent_id: 'agt_2', reason: 'unknown' },
  ]),
  ...['a', 'b'].map((id) =>
    story(`anna-key_${id}`, [
      'KeyIssued',
      {
        key_id: `key_${id}`,
        agent_id: 'agt_1',
        environment: id === 'a' ? 'live' : 'test',
        last4: 'wxyz',
        hash: `hash-${id}`,
        pepper_version: 1,
        expires_at: MIDNIGHT + 365 * 24 * HOUR_MS,
        ...(id === 'b' && { rotated_from: 'key_a' }),
      },
    ]),
  ),
  story('anna-key_a', [
    'KeyRetired',
    { key_id: 'key_a', replaced_by: 'key_b', expires_at: MIDNIGHT + HOUR_MS },
  ]),
  story('anna-key_b', ['KeyRevoked', { key_id: 'key_b', reason: 'lost' }]),
  story(
    'desk-token_1',
    [
      'DeskTokenIssued',
      {
        token_id: 'tok_1',
        name: 'Anna',
        roles: ['owner'],
        owner_id: 'anna',
        hash: 'hash-t',
        pepper_version: 1,
        expires_at: MIDNIGHT + HOUR_MS,
      },
    ],
    ['DeskTokenRevoked', { token_id: 'tok_1', reason: 'left' }],
  ),
];

/** A clock that steps back, also over midnight. */
const AT = [0, 40, 20, -30, 60, 10, 90].map((minutes) => MIDNIGHT + minutes * 60_000);

/** Interleaves the stories event by event, so that every row changes again after other rows. */
export const PINNED_LOG: readonly Given[] = (() => {
  const stories = [
    ACCESS,
    LINKS,
    VISITS,
    HANDOFFS,
    LEADS,
    OUTREACH,
    TASKS,
    RECORD,
    PUSH,
    MAIL,
    OWNERS,
  ].flat();
  const longest = Math.max(...stories.map(({ told }) => told.length));
  const given: Given[] = [];
  for (let turn = 0; turn < longest; turn += 1) {
    for (const { stream, told } of stories) {
      const [type, data] = told[turn] ?? [];
      const at = AT[given.length % AT.length];
      if (type && data) given.push(happened(type, stream, data as never, at));
    }
  }
  return given;
})();
