/** Links, lists for buyers and leads, each through the door of who acts. */
import type { BuyerOperationId } from '#contracts/buyer/index.ts';
import type { Review } from '#src/app/handoffs/review.ts';
import { iso } from '#src/app/shared/time.ts';
import type { CodeRow } from '#src/ports/rows.ts';
import { AGENTS, STAFF } from './cast.ts';
import type { HandoffPlot } from './handoffs.ts';
import type { LeadPlot } from './leads.ts';
import type { LinkPlot } from './links.ts';
import { known, type Memory, type Scene } from './scenes.ts';
import { granted, type Stage } from './stage.ts';

export const linkScene = (stage: Stage, { links }: Memory, plot: LinkPlot): Scene => ({
  day: plot.day,
  async play() {
    const { name, by, day: _day, pull: _pull, ...asked } = plot;
    const utm = { source: asked.channel, campaign: asked.campaign };
    const { id, code } = await stage.agent(by, 'createLink', { ...asked, utm });
    const row = await stage.service.deps.readModels.get<CodeRow>('codes', code, '');
    if (!row) throw new Error(`demo story: the code of ${name} leads nowhere`);
    links.set(name, { id, code: row, shortCode: code });
  },
});

export const handoffScenes = (stage: Stage, recalled: Memory, plot: HandoffPlot): Scene[] => {
  const { handoffs, links } = recalled;
  const create = async (): Promise<void> => {
    const { title, company, country, from, note, email, lines } = plot;
    const { id, review_url } = await stage.agent(plot.by, 'createHandoff', {
      title,
      locale: 'en-GB',
      buyer: { company, country, ...(email !== undefined && { email }) },
      line_items: lines.map(([sku, quantity]) => ({ sku, quantity })),
      ...(note !== undefined && { note_to_buyer: note }),
      ...(from !== undefined && { link_id: known(links, from).id }),
    });
    handoffs.set(plot.name, { id, token: review_url.slice(review_url.lastIndexOf('/') + 1) });
  };
  return [{ day: plot.day, play: create }, ...buyerScenes(stage, recalled, plot)];
};

/** What the buyer does with the list, and what its owner does when it was a mistake. */
const buyerScenes = (stage: Stage, { handoffs }: Memory, plot: HandoffPlot): Scene[] => {
  const { buyers } = stage.service.app;
  const perform = async (id: BuyerOperationId, input: Record<string, unknown>): Promise<Review> => {
    const caller = { kind: 'buyer' as const, token: known(handoffs, plot.name).token };
    const incoming = { caller, surface: 'portal' as const, requestId: stage.requestId(), input };
    return granted(await buyers.performAs(id, incoming), `${id} by the buyer`);
  };
  const scenes: Scene[] = [];
  let listRevision = 1;
  const { opened, revised, sent, declined, withdrawn } = plot;
  if (opened !== undefined)
    scenes.push({
      day: opened,
      play: () => perform('openHandoff', {}),
    });
  if (revised)
    scenes.push({
      day: revised.day,
      async play() {
        const quantities = new Map(Object.entries(revised.quantities));
        const { state } = await perform('reviseList', { list_revision: listRevision, quantities });
        listRevision = state.list_revision;
      },
    });
  if (sent)
    scenes.push({
      day: sent.day,
      async play() {
        const { contact } = sent;
        await perform('submitRfq', { list_revision: listRevision, consent: true, contact });
      },
    });
  if (declined)
    scenes.push({
      day: declined.day,
      play: () => perform('declineHandoff', { reason: declined.reason }),
    });
  if (withdrawn)
    scenes.push({
      day: withdrawn.day,
      play: () =>
        stage.desk(STAFF, 'withdrawHandoff', {
          handoff_id: known(handoffs, plot.name).id,
          owner_id: ownerOf(plot.by),
          reason: withdrawn.reason,
        }),
    });
  return scenes;
};

const ownerOf = (agent: string): string => AGENTS.find(({ name }) => name === agent)?.owner ?? '';

export const leadScenes = (stage: Stage, recalled: Memory, plot: LeadPlot): Scene[] => {
  const { leads, links, handoffs } = recalled;
  const { clock } = stage.service.deps;
  const { by, contact, link, handoff, categories, quantity, note } = plot;
  const external_id = `crm-${plot.name.replaceAll(' ', '-')}`;
  const submit = async (): Promise<void> => {
    const consent = { basis: 'consent' as const, obtained_at: iso(clock.now()) };
    const interest = { categories, quantity_hint: quantity, note };
    const hasInterest = Object.values(interest).some((value) => value !== undefined);
    const { id } = await stage.agent(by, 'submitLead', {
      external_id,
      company: { name: plot.company, country: plot.country },
      ...(contact && { contact, consent }),
      ...(hasInterest && { interest }),
      ...(link !== undefined && { source: { kind: 'link' as const, ref: known(links, link).id } }),
      ...(handoff !== undefined && {
        source: { kind: 'handoff' as const, ref: known(handoffs, handoff).id },
      }),
    });
    leads.set(plot.name, id);
  };
  const moves = (plot.moves ?? []).map(({ day, to, reason, value }) => ({
    day,
    play: () =>
      stage.desk(STAFF, 'moveLead', {
        lead_id: known(leads, plot.name),
        owner_id: ownerOf(by),
        to,
        reason,
        ...(value && { value: { amount: value[0], currency: value[1] } }),
      }),
  }));
  const { withdrawn } = plot;
  const end = withdrawn && {
    day: withdrawn.day,
    play: () =>
      stage.agent(by, 'submitLead', {
        external_id,
        withdraw: true as const,
        withdraw_reason: withdrawn.reason,
      }),
  };
  return [{ day: plot.day, play: submit }, ...moves, ...(end ? [end] : [])];
};
