import { z } from 'zod';
import { handoffExample } from '../examples/records.ts';
import { id, money, ownerSpace, time } from '../fields.ts';
import { lineItem } from '../records/handoff.ts';
import { closedContact } from '../records/lead.ts';
import { deskQuery, EXAMPLE_AT } from './define.ts';

const HANDOFF = 'hnd_2b3c4d5e6f7g8h9j0k1m2n3p';

export const readRfq = deskQuery({
  roles: ['staff'],
  readsPersonalData: true,
  path: '/handoffs/{handoff_id}/rfq',
  summary: 'Read the RFQ that a buyer sent: list, totals and contact',
  guidance:
    'Staff only: neither the agent nor the promoter sees the contact. Prices are those in the total that the buyer ' +
    'was shown. A line shows in warnings and unit_price_when_sent how the catalog had changed when the buyer sent ' +
    'the RFQ. Any holder of the review link can send it, and the agent was given the link: check evidence ' +
    'before you assume that the contact sent the RFQ.',
  fields: { handoff_id: id('hnd'), owner_id: ownerSpace },
  output: z.object({
    handoff_id: id('hnd'),
    owner_id: z.string(),
    title: z.string(),
    submitted_at: time,
    contact: z.union([
      z.object({
        name: z.string(),
        email: z.string(),
        company: z.string().optional(),
        phone: z.string().optional(),
      }),
      closedContact,
    ]),
    list_revision: z.int(),
    line_items: z.array(lineItem),
    indicative_totals: z.array(money),
    evidence: z
      .object({
        seconds_after_creation: z
          .int()
          .describe('Seconds from the creation of the handoff to the RFQ'),
        opened_before: z
          .boolean()
          .describe(
            'Whether an earlier request opened the list: a button, or a script of its page',
          ),
      })
      .describe(
        'How the RFQ was sent. It does not identify the sender: a program that has the link can wait and open ' +
          'the list, too',
      ),
  }),
  example: {
    name: 'of a handoff',
    input: { handoff_id: HANDOFF, owner_id: 'acme' },
    output: {
      handoff_id: HANDOFF,
      owner_id: 'acme',
      title: 'Kitchen shelf, autumn',
      submitted_at: EXAMPLE_AT,
      contact: { name: 'Bea Buyer', email: 'bea@cornershop.example' },
      list_revision: 1,
      line_items: handoffExample.line_items,
      indicative_totals: handoffExample.indicative_totals,
      evidence: { seconds_after_creation: 93_600, opened_before: true },
    },
  },
});
