import { describe, expect, test } from 'vitest';
import { codes, links } from '#projections/links.ts';
import { handoffLeads, reviewTokens, handoffs } from '#projections/handoffs.ts';
import { leads } from '#projections/leads.ts';
import { happened, MIDNIGHT, rowsAfter } from '../support/world/fold.ts';
import {
  DIMS,
  erased,
  handoffCreated,
  handoffNamed,
  leadNamed,
  leadSubmitted,
  linkCreated,
  linkDisabled,
  rfqConfirmed,
  rfqSubmitted,
} from '../support/world/stories.ts';

describe('The read model of links', () => {
  test('The read model of links contains the state of each link, in the order of creation', () => {
    const rows = rowsAfter(links, [
      linkCreated('1'),
      linkCreated('2'),
      linkDisabled('1', MIDNIGHT + 5),
    ]);
    expect(Object.keys(rows)).toEqual(['anna/lnk_1', 'anna/lnk_2']);
    expect(rows['anna/lnk_1']).toEqual({
      row: {
        ...linkCreated('1').data,
        status: 'disabled',
        created_at: MIDNIGHT,
        updated_at: MIDNIGHT + 5,
        version: 1,
        sort: 1,
        changed: 3,
      },
      sort: 1,
      lists: [
        ['status=disabled', 1],
        ['campaign=autumn', 1],
        ['word=aut', 1],
        ['changed', 3],
      ],
    });
    expect(rows['anna/lnk_2']).toMatchObject({ row: { status: 'active', version: 0 }, sort: 2 });
  });

  test('The read model of links rejects an impossible event', () => {
    expect(() => rowsAfter(links, [linkDisabled('1')])).toThrow('never created');
  });
});

describe('The read model of codes', () => {
  test('The read model of codes contains the destination of each code, and its end', () => {
    const until = { expires_at: MIDNIGHT + 9, expired_url: 'https://shop.example/over' };
    const rows = rowsAfter(codes, [linkCreated('1', until), linkCreated('2'), linkDisabled('2')]);
    const row = {
      owner: 'anna',
      link_id: 'lnk_1',
      agent_id: 'agt_1',
      destination_url: 'https://shop.example/p/1',
      dims: DIMS,
      disabled: false,
    };
    expect(rows).toEqual({
      'code1/': { row: { ...row, ...until }, sort: null },
      'code2/': { row: { ...row, link_id: 'lnk_2', disabled: true }, sort: null },
    });
    expect(() => rowsAfter(codes, [linkDisabled('1')])).toThrow('never created');
  });

  test('The read model of codes contains what the profile of an owner decides for links, and the profile sealed', () => {
    const mailbox_keys = { address: '1.a', mailbox: '1.m' };
    const sealed = { sealed_for: 'own_1', sealed_profile: 's1.own_1.x', mailbox_keys };
    const settings = { attribution_days: 7, fallback: { kind: 'search', ref: 'mugs' } };
    const set = (over: object = {}) =>
      happened('OwnerProfileSet', 'owner_profile', { ...sealed, ...over });
    const key = 'anna/settings';
    const { sealed_profile } = sealed;
    const row = { ...settings, sealed_profile };
    expect(rowsAfter(codes, [set(settings)])).toEqual({ [key]: { row, sort: null } });
    const later = { row: { sealed_profile }, sort: null };
    expect(rowsAfter(codes, [set(settings), set()])[key]).toEqual(later);
    const removed = happened('OwnerProfileRemoved', 'owner_profile', { reason: 'left' });
    expect(rowsAfter(codes, [set(settings), removed])).toEqual({});
  });
});

describe('The read models of handoffs', () => {
  test('The read models of handoffs contain the state of each handoff', () => {
    const rows = rowsAfter(handoffs, [
      handoffCreated('1'),
      happened('HandoffOpenedByBuyer', 'handoff_1', handoffNamed('1')),
      rfqSubmitted('1', [{ amount: 7, currency: 'EUR' }]),
      rfqConfirmed('1', [{ amount: 7, currency: 'EUR' }]),
    ]);
    expect(rows).toEqual({
      'anna/hnd_1': {
        row: {
          ...handoffCreated('1').data,
          status: 'rfq_submitted',
          list_revision: 1,
          rfqs_sent: 1,
          rfq: {
            state: 'confirmed',
            confirmed_by: 'mailbox',
            contact: 'sealed',
            contact_subject: 'con_1',
            submitted_at: MIDNIGHT,
            seen: {
              named: 'nobody',
              created_at: MIDNIGHT,
              mailbox: '1.m',
              sent_at: MIDNIGHT,
              confirmed_at: MIDNIGHT,
            },
          },
          erased: false,
          created_at: MIDNIGHT,
          updated_at: MIDNIGHT,
          version: 3,
          sort: 1,
          changed: 4,
        },
        sort: 1,
        lists: [
          ['agents', 1],
          ['status=rfq_submitted', 1],
          ['campaign=autumn', 1],
          ['word=lis', 1],
          ['word=aut', 1],
          ['changed', 4],
        ],
      },
    });
  });

  test('The read models of handoffs remove the buyer of an erased handoff, found by its stream', () => {
    const rows = rowsAfter(handoffs, [
      handoffCreated('1'),
      erased('handoff_1'),
      leadSubmitted('1'),
      erased('lead_1'),
      erased('owner_anna'),
    ]);
    expect(Object.keys(rows)).toEqual(['anna/hnd_1']);
    expect(rows['anna/hnd_1']?.row).toMatchObject({
      erased: true,
      buyer: { company: 'Buyer Ltd' },
    });
    expect(rows['anna/hnd_1']?.row.buyer).not.toHaveProperty('email');
  });

  test('The read models of handoffs contain the first hundred leads that name a handoff, and no others', () => {
    const handoff_id = 'hnd_1';
    const many = Array.from({ length: 101 }, (_, i) => leadSubmitted(`${i}`, { handoff_id }));
    const rows = rowsAfter(handoffLeads, [leadSubmitted('of none'), ...many]);
    expect(Object.keys(rows)).toEqual(['anna/hnd_1']);
    expect(rows['anna/hnd_1']?.row.leads).toEqual(
      many.slice(0, 100).map(({ data }) => (data as { lead_id: string }).lead_id),
    );
  });

  test('The read models of handoffs contain a lead once that names the handoff in an amendment', () => {
    const company = { name: 'Buyer Ltd', country: 'GB' };
    const amendment = { lead_id: 'led_1', company };
    const rows = rowsAfter(handoffLeads, [
      leadSubmitted('1'),
      happened('LeadAmended', 'lead_1', { ...amendment, handoff_id: 'hnd_1' }),
      happened('LeadAmended', 'lead_1', amendment),
    ]);
    expect(rows).toEqual({ 'anna/hnd_1': { row: { leads: ['led_1'] }, sort: null } });
  });

  test('The read models of handoffs contain the handoff by the hash of the token of its review link', () => {
    expect(rowsAfter(reviewTokens, [handoffCreated('1')])).toEqual({
      'hash1/': { row: { owner: 'anna', handoff_id: 'hnd_1' }, sort: null },
    });
  });
});

describe('The read model of leads', () => {
  test('The read model of leads contains the state of each lead', () => {
    const rows = rowsAfter(leads, [
      leadSubmitted('1'),
      leadSubmitted('2'),
      happened('LeadAccepted', 'lead_1', leadNamed('1'), MIDNIGHT + 3),
    ]);
    expect(rows['anna/led_1']).toEqual({
      row: {
        ...leadSubmitted('1').data,
        state: 'accepted',
        erased: false,
        created_at: MIDNIGHT,
        updated_at: MIDNIGHT + 3,
        version: 1,
        sort: 1,
        changed: 3,
      },
      sort: 1,
      lists: [
        ['state=accepted', 1],
        ['source=agent', 1],
        ['state=accepted&source=agent', 1],
        ['external_id=1', 1],
        ['created', MIDNIGHT],
        ['claim_end', MIDNIGHT + 1],
        ['updated', MIDNIGHT + 3],
      ],
    });
    expect(rows['anna/led_2']).toMatchObject({ row: { state: 'submitted' }, sort: 2 });
    const listed = (rows['anna/led_2'] as { lists?: [string, number][] }).lists;
    expect(listed?.map(([list]) => list)).not.toContain('updated');
  });

  test('The read model of leads contains the latest time of a change, regardless of the order of the times', () => {
    const rows = rowsAfter(leads, [
      leadSubmitted('1'),
      happened('LeadAccepted', 'lead_1', leadNamed('1'), MIDNIGHT + 9),
      happened('LeadContacted', 'lead_1', leadNamed('1'), MIDNIGHT + 4),
    ]);
    expect(rows['anna/led_1']?.row).toMatchObject({ version: 2, updated_at: MIDNIGHT + 9 });
  });

  test('A lead is late if a lead before it has a time more than a minute later', () => {
    const rows = rowsAfter(leads, [
      leadSubmitted('1', { claim_expires_at: MIDNIGHT }, MIDNIGHT),
      leadSubmitted('2', { claim_expires_at: MIDNIGHT - 60_000 }, MIDNIGHT - 60_000),
      leadSubmitted('3', { claim_expires_at: MIDNIGHT - 60_001 }, MIDNIGHT),
      leadSubmitted('4', { claim_expires_at: MIDNIGHT }, MIDNIGHT - 60_001),
    ]);
    const listsOf = (name: string) =>
      (rows[`anna/led_${name}`] as { lists?: [string, number][] }).lists?.map(([list]) => list);
    for (const name of ['1', '2'])
      expect(listsOf(name)).toEqual(expect.arrayContaining(['created', 'claim_end']));
    for (const name of ['3', '4']) {
      expect(listsOf(name)).toEqual(expect.arrayContaining(['late', 'updated']));
      expect(listsOf(name)).not.toContain('created');
    }
  });

  test('The read model of leads removes the contact of an erased lead, found by its stream', () => {
    const rows = rowsAfter(leads, [leadSubmitted('1'), erased('lead_1')]);
    expect(rows['anna/led_1']?.row).toMatchObject({ erased: true, contact: '' });
  });
});
