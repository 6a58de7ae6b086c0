import { z } from 'zod';
import { handoffExample } from '../examples/records.ts';
import { id, money, ownerSpace, time } from '../fields.ts';
import { defineDeskOperation } from '../operation.ts';
import { lineItem } from '../records/handoff.ts';
import { closedContact } from '../records/lead.ts';

const HANDOFF = 'hnd_2b3c4d5e6f7g8h9j0k1m2n3p';

export const readRfq = defineDeskOperation({
  id: 'readRfq',
  kind: 'query',
  roles: ['staff'],
  readsPersonalData: true,
  http: { method: 'GET', path: '/handoffs/{handoff_id}/rfq', status: 200 },
  summary: 'The RFQ that a buyer sent: list, totals and whom to answer',
  guidance:
    'Staff only: neither the agent nor the promoter sees the contact. Prices are those that the buyer ' +
    'was shown in the total; a line tells in warnings and unit_price_when_sent what the catalog said ' +
    'of its product when the buyer sent it. Whoever has the review link can send it, and the agent was ' +
    'given the link: look at evidence before you take an RFQ for a wish of the contact’s.',
  input: z.strictObject({
    handoff_id: id('hnd'),
    owner_id: ownerSpace,
  }),
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
        seconds_after_creation: z.int().describe('Between the making of the list and its sending'),
        opened_before: z
          .boolean()
          .describe(
            'Whether a request before had opened it: a button, or its page where it may run scripts',
          ),
      })
      .describe(
        'How the RFQ came. It proves nobody: a program that has the link can wait and look, too',
      ),
  }),
  problems: ['role_missing', 'parameter_invalid', 'resource_not_found'],
  examples: [
    {
      name: 'of a handoff',
      input: { handoff_id: HANDOFF, owner_id: 'acme' },
      output: {
        handoff_id: HANDOFF,
        owner_id: 'acme',
        title: 'Kitchen shelf, autumn',
        submitted_at: '2026-11-20T09:30:00.000Z',
        contact: { name: 'Bea Buyer', email: 'bea@cornershop.example' },
        list_revision: 1,
        line_items: handoffExample.line_items,
        indicative_totals: handoffExample.indicative_totals,
        evidence: { seconds_after_creation: 93_600, opened_before: true },
      },
    },
  ],
});
