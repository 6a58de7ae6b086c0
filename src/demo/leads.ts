/** Leads, and how far staff move each. Those of a list take the outcome of its RFQ. The companies are invented. */
import type { Act, StoryInput } from './acts.ts';
import { concierge, newsletter, staff } from './cast.ts';

type Move = Pick<StoryInput<'moveLead'>, 'to' | 'reason' | 'value'>;

/** Moves the lead with this external_id. */
const move = (day: number, lead: string, change: Move): Act =>
  staff(day, 'moveLead', { lead_id: `{${lead}.id}`, owner_id: `{${lead}.owner_id}`, ...change });

/** A contact with its consent, given when the lead is submitted. */
const person = (contact: { name: string; email: string; role?: string }) => ({
  contact,
  consent: { basis: 'consent' as const, obtained_at: '{now}' },
});

export const LEAD_ACTS: readonly Act[] = [
  newsletter(4.4, 'submitLead', {
    as: 'crm-corner',
    external_id: 'crm-corner',
    company: { name: 'Pimlico Corner Shop', country: 'GB' },
    ...person({ name: 'Ines Okafor', email: 'ines@pimlicocorner.example', role: 'Owner' }),
    source: { kind: 'handoff', ref: '{corner list.id}' },
  }),
  move(4.8, 'crm-corner', { to: 'accepted' }),
  move(5.0, 'crm-corner', { to: 'contacted' }),

  newsletter(13.5, 'submitLead', {
    as: 'crm-bookshop',
    external_id: 'crm-bookshop',
    company: { name: 'Third Shelf Books', country: 'GB' },
    ...person({ name: 'Tom Arkwright', email: 'tom@thirdshelf.example' }),
    source: { kind: 'handoff', ref: '{book list.id}' },
  }),
  move(14.1, 'crm-bookshop', { to: 'accepted' }),
  move(14.5, 'crm-bookshop', { to: 'contacted' }),
  move(15.0, 'crm-bookshop', { to: 'qualified' }),

  concierge(7.3, 'submitLead', {
    as: 'crm-spa',
    external_id: 'crm-spa',
    company: { name: 'Quayside Spa', country: 'GB' },
    ...person({ name: 'Priya Nair', email: 'priya@quayside.example', role: 'Shop manager' }),
    source: { kind: 'handoff', ref: '{spa list.id}' },
  }),
  move(7.9, 'crm-spa', { to: 'accepted' }),

  // The contact belongs to another promoter's lead, so that this one is rejected.
  newsletter(10.5, 'submitLead', {
    external_id: 'crm-spa-again',
    company: { name: 'Quayside Spa', country: 'GB' },
    ...person({ name: 'Priya Nair', email: 'priya@quayside.example' }),
  }),

  newsletter(16.2, 'submitLead', {
    as: 'crm-delicatessen',
    external_id: 'crm-delicatessen',
    company: { name: 'Feinkost Lindner', country: 'DE' },
    ...person({ name: 'Jonas Lindner', email: 'jonas@lindner.example' }),
    source: { kind: 'link', ref: '{letter mugs.id}' },
    interest: {
      categories: ['Kitchen'],
      quantity_hint: 300,
      note: 'Would like samples of the glaze first',
    },
  }),
  move(16.8, 'crm-delicatessen', { to: 'accepted' }),
  move(18.0, 'crm-delicatessen', { to: 'contacted' }),
  move(19.5, 'crm-delicatessen', { to: 'qualified' }),

  newsletter(17.1, 'submitLead', {
    as: 'crm-pop-up',
    external_id: 'crm-pop-up',
    company: { name: 'Saturday Pop-up', country: 'GB' },
    source: { kind: 'link', ref: '{fair stand.id}' },
  }),
  move(17.9, 'crm-pop-up', { to: 'accepted' }),
  move(18.6, 'crm-pop-up', { to: 'contacted' }),
  move(19.1, 'crm-pop-up', { to: 'unqualified', reason: 'Sells at markets for one month only' }),

  concierge(19.2, 'submitLead', {
    as: 'crm-private',
    external_id: 'crm-private',
    company: { name: 'M. Delacroix', country: 'FR' },
  }),
  move(19.8, 'crm-private', { to: 'rejected', reason: 'A private person' }),

  concierge(23.3, 'submitLead', {
    external_id: 'crm-farm-shop',
    company: { name: 'Lower Moor Farm Shop', country: 'GB' },
    ...person({ name: 'Beth Rowe', email: 'beth@lowermoor.example' }),
  }),
  concierge(24.4, 'submitLead', {
    external_id: 'crm-farm-shop',
    withdraw: true,
    withdraw_reason: 'Closed over winter',
  }),

  newsletter(26.7, 'submitLead', {
    as: 'crm-gallery',
    external_id: 'crm-gallery',
    company: { name: 'Slate Gallery', country: 'IE' },
    ...person({ name: 'Aoife Byrne', email: 'aoife@slategallery.example' }),
    interest: { categories: ['Stationery', 'Candles'] },
  }),
  move(27.5, 'crm-gallery', { to: 'accepted' }),

  newsletter(29.2, 'submitLead', {
    external_id: 'crm-toyshop',
    company: { name: 'Pied Piper Toys', country: 'GB' },
    interest: { categories: ['Toys'], quantity_hint: 120 },
  }),
];
