/**
 * A small log to which events are only added, at its end, with every type of event that a read model folds, a clock that steps
 * back, and records that end in each possible way. pinned-rows.test.ts pins its rows.
 */
import type { EventData } from '#contracts/registries/events.ts';
import { type Given, happened, MIDNIGHT } from '../world/fold.ts';
import { BY, DIMS, HANDOFFS } from './pinned-handoffs.ts';
import {
  APPLICATIONS,
  MAIL,
  OUTREACH,
  OWNERS,
  PEOPLE,
  PUSH,
  RECORD,
  TASKS,
} from './pinned-outreach.ts';
import { HOUR_MS, story, type Told } from './pinned-story.ts';

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
    [
      'LinkUpdated',
      {
        link_id: 'lnk_1',
        code: 'mugs',
        agent_id: 'agt_1',
        target: { kind: 'category', ref: 'Mugs' },
        destination_url: 'https://shop.example/c/Mugs',
        dims: DIMS,
        expires_at: MIDNIGHT + 80 * HOUR_MS,
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
  { link_id: 'lnk_1', ...BY, visitor, device: 'mobile', trigger: 'link', window_days: 30, ...more },
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
  story(
    'anna-plan_led_4',
    ['RecordAssigned', { record: 'led_4', assigned_to: 'name:ann' }],
    ['RecordNoted', { record: 'led_4', sealed_note: 's1.led_4.note' }],
  ),
  story(
    'anna-plan_hnd_1',
    ['NextStepPlanned', { record: 'hnd_1', due_at: MIDNIGHT, sealed_step: 's1.hnd_1.step' }],
    ['RecordAssigned', { record: 'hnd_1', assigned_to: 'name:ann' }],
    ['NextStepDone', { record: 'hnd_1' }],
    ['RecordAssigned', { record: 'hnd_1' }],
  ),
  story('bert-plan_agt_1', ['RecordAssigned', { record: 'agt_1', assigned_to: 'name:ben' }]),
  story(
    'bert-lead_5',
    claim(5),
    ['LeadAccepted', ofLead(5)],
    ['LeadLost', ofLead(5)],
    [
      'LeadMoveProposed',
      {
        ...ofLead(5),
        to: 'won',
        value: { amount: 8, currency: 'EUR' },
        is_correction: true,
        sealed_reason: 's1.led_5.why',
      },
    ],
    ['LeadMoveRefused', { ...ofLead(5), sealed_reason: 's1.led_5.no' }],
  ),
  story('anna-lead_6', claim(6), [
    'LeadWithdrawn',
    { ...ofLead(6), sealed_reason: 's1.led_6.why' },
  ]),
  story(
    'anna-lead_8',
    claim(8, { source: { kind: 'handoff', ref: 'hnd_1' }, handoff_id: 'hnd_1' }),
    ['LeadAccepted', { ...ofLead(8), handoff_id: 'hnd_1' }],
    ['LeadRfqObserved', { ...ofLead(8), handoff_id: 'hnd_1' }],
    ['LeadWon', { ...ofLead(8), handoff_id: 'hnd_1', from_rfq: true }],
    [
      'LeadOutcomeCorrected',
      {
        ...ofLead(8),
        handoff_id: 'hnd_1',
        from_rfq: true,
        from: { state: 'won' },
        to: { state: 'rfq_submitted' },
        outcome_at: MIDNIGHT,
      },
    ],
    ['LeadWon', { ...ofLead(8), handoff_id: 'hnd_1', from_rfq: true, uncounted: true }],
  ),
  story(
    'anna-lead_9',
    claim(9, { source: { kind: 'handoff', ref: 'hnd_6' }, handoff_id: 'hnd_6' }),
    ['LeadWon', { ...ofLead(9), handoff_id: 'hnd_6', value: { amount: 7, currency: 'EUR' } }],
    [
      'LeadOutcomeCorrected',
      {
        ...ofLead(9),
        handoff_id: 'hnd_6',
        sealed_reason: 's1.led_9.why',
        from: { state: 'won', value: { amount: 7, currency: 'EUR' } },
        to: { state: 'lost' },
        outcome_at: MIDNIGHT,
      },
    ],
  ),
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
    ['AgentSuspended', { agent_id: 'agt_1', reason: 'to look', by_role: 'staff' }],
    ['AgentReinstated', { agent_id: 'agt_1', reason: 'looked' }],
  ),
  story('bert-agent_2', wanted('agt_2', 'links:write'), [
    'AccessDenied',
    { agent_id: 'agt_2', reason: 'unknown' },
  ]),
  story('cora-agent_3', [
    'AccessGranted',
    {
      agent_id: 'agt_3',
      name: 'Scout',
      purpose: 'to scout',
      scopes: ['links:write'],
      reason: 'first',
    },
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
        person_id: 'name:anna',
        roles: ['owner'],
        owner_id: 'anna',
        hash: 'hash-t',
        expires_at: MIDNIGHT + HOUR_MS,
      },
    ],
    ['DeskTokenRevoked', { token_id: 'tok_1', reason: 'left' }],
  ),
];

const KEYS = { address: '1.a', mailbox: '1.m' };
const MAILBOXES = [
  ...['2', '3'].map((n) =>
    story(`desk-privacy_${n}`, [
      'PrivacyLinkRequested',
      { sealed_for: `plk_${n}`, sealed_address: `s1.plk_${n}.a`, expires_at: MIDNIGHT + HOUR_MS },
    ]),
  ),
  story(
    'desk-mailbox_1.m',
    ['PrivacyRequestRecorded', { mailbox_keys: KEYS, action: 'find', proof: 'Ticket 1' }],
    ['PrivacyRequestRecorded', { mailbox_keys: KEYS, action: 'withdraw', suppress: {} }],
    [
      'PrivacyRequestRecorded',
      { mailbox_keys: KEYS, action: 'lift', proof: 'Ticket 2', lift: { owner_id: 'anna' } },
    ],
  ),
  story('desk-privacy_1', [
    'PrivacyLinkRequested',
    { sealed_for: 'plk_1', sealed_address: 's1.plk_1.a', expires_at: MIDNIGHT + HOUR_MS },
  ]),
  story('anna-known_agt_1_20261121', [
    'KnownContactSubmitted',
    { agent_id: 'agt_1', lead_id: 'led_1', address: '1.a' },
  ]),
  story('anna-lead_19', claim(19, { mailbox_keys: { ...KEYS, address: '1.b' } })),
  story('anna-lead_20', claim(20, { hint_keys: { phone: 'p1', domains: ['d1', 'd2'] } }), [
    'LeadAmended',
    {
      lead_id: 'led_20',
      company: { name: 'Harbour Cafés', country: 'NL' },
      hint_keys: { domains: ['d1'] },
    },
  ]),
  story('bert-lead_21', claim(21, { hint_keys: { phone: 'p1', domains: [] } }), [
    'SubjectErased',
    { subject: 'led_21', reason: 'Asked' },
  ]),
];

const BUILDS = [
  story('desk-build_1', ['BuildSwitched', { read_model: 'leads', space: 'leads@1.2' }]),
  story('desk-build_2', ['BuildDropped', { read_model: 'links', space: 'links@1.3' }]),
];
const SKIPPED = {
  read_model: 'leads',
  event_id: '00000000-0000-7000-8000-000000000001',
  stream: 'anna-lead_99',
  revision: 0,
  position: 9,
  type: 'LeadContacted',
} as const;

/** After all others, so that their positions stay as they are. */
const REPAIRS = story(
  'desk-repairs_read-models',
  ['EventSkipProposed', { ...SKIPPED, reason: 'Written twice' }],
  ['EventSkipApproved', SKIPPED],
  ['ParkedEventsRetried', {}],
);

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
    APPLICATIONS,
    PEOPLE,
    MAILBOXES,
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
  // After all others, so that the rows of other read models stay as they were pinned.
  for (const { stream, told } of BUILDS)
    for (const [type, data] of told)
      given.push(happened(type, stream, data as never, AT[given.length % AT.length]));
  for (const [type, data] of REPAIRS.told)
    given.push(happened(type, REPAIRS.stream, data as never, AT[0]));
  return given;
})();
