/** Events of a small business, complete, with as little in them as they may have. */
import type { EventData } from '#contracts/registries/events.ts';
import { type Given, happened, MIDNIGHT } from './fold.ts';

export const AGENT = 'agt_1';
export const DIMS = { campaign: 'autumn', channel: 'email', sub_ids: ['a'] };

export const linkCreated = (
  name: string,
  more: Partial<EventData<'LinkCreated'>> = {},
  at = MIDNIGHT,
): Given =>
  happened(
    'LinkCreated',
    `link_${name}`,
    {
      link_id: `lnk_${name}`,
      agent_id: AGENT,
      target: { kind: 'product', ref: 'prd_1' },
      destination_url: 'https://shop.example/p/1',
      code: `code${name}`,
      short_url: `https://shop.example/r/code${name}`,
      dims: DIMS,
      ...more,
    },
    at,
  );

export const linkDisabled = (name: string, at = MIDNIGHT): Given =>
  happened(
    'LinkDisabled',
    `link_${name}`,
    { link_id: `lnk_${name}`, code: `code${name}`, reason: 'over' },
    at,
  );

export const visit = (
  name: string,
  visitor: string,
  more: Partial<EventData<'VisitRecorded'>> = {},
  at = MIDNIGHT,
): Given =>
  happened(
    'VisitRecorded',
    `visits_${name}.p.0`,
    {
      link_id: `lnk_${name}`,
      agent_id: AGENT,
      dims: DIMS,
      visitor,
      device: 'desktop',
      trigger: 'link',
      window_days: 30,
      ...more,
    },
    at,
  );

export const handoffCreated = (
  name: string,
  more: Partial<EventData<'HandoffCreated'>> = {},
  at = MIDNIGHT,
): Given =>
  happened(
    'HandoffCreated',
    `handoff_${name}`,
    {
      handoff_id: `hnd_${name}`,
      agent_id: AGENT,
      title: 'A list',
      locale: 'en',
      dims: DIMS,
      buyer: { company: 'Buyer Ltd', email: 'sealed' },
      lines: [],
      totals: [{ amount: 500, currency: 'GBP' }],
      token_hash: `hash${name}`,
      review_origin: 'https://shop.example',
      expires_at: MIDNIGHT + 1,
      window_days: 30,
      ...more,
    },
    at,
  );

export const handoffNamed = (name: string) => ({
  handoff_id: `hnd_${name}`,
  agent_id: AGENT,
  dims: DIMS,
});

export const rfqSubmitted = (name: string, totals: { amount: number; currency: string }[]): Given =>
  happened('RfqSubmittedByBuyer', `handoff_${name}`, {
    ...handoffNamed(name),
    list_revision: 1,
    totals,
    contact: 'sealed',
    contact_subject: `con_${name}`,
    mailbox_keys: { address: '1.a', mailbox: '1.m' },
    confirmation: { number: 1, token_hash: `confirms_${name}`, until: MIDNIGHT + 86_400_000 },
    consent_text: 'yes',
    seen: { named: 'nobody', created_at: MIDNIGHT },
  });

export const rfqConfirmed = (name: string, totals: { amount: number; currency: string }[]): Given =>
  happened('RfqConfirmedByBuyer', `handoff_${name}`, {
    ...handoffNamed(name),
    totals,
    lines: [],
    mailbox: '1.m',
    submitted_at: MIDNIGHT,
  });

export const leadSubmitted = (
  name: string,
  more: Partial<EventData<'LeadSubmitted'>> = {},
  at = MIDNIGHT,
): Given =>
  happened(
    'LeadSubmitted',
    `lead_${name}`,
    {
      lead_id: `led_${name}`,
      agent_id: AGENT,
      external_id: name,
      source: { kind: 'agent' },
      dims: DIMS,
      claim_expires_at: MIDNIGHT + 1,
      company: { name: 'Buyer Ltd', country: 'GB' },
      contact: 'sealed',
      ...more,
    },
    at,
  );

export const leadNamed = (name: string) => ({
  lead_id: `led_${name}`,
  agent_id: AGENT,
  dims: DIMS,
});

export const erased = (stream: string): Given =>
  happened('SubjectErased', stream, { subject: 'somebody', reason: 'asked' });
