import type { EventData } from '#contracts/events/index.ts';

type Submitted = EventData<'LeadSubmitted'>;
type Amended = EventData<'LeadAmended'>;

/** Where a lead came from, with the dimensions to attribute it to. */
export type LeadSource = Pick<Submitted, 'source' | 'link_id' | 'handoff_id' | 'dims'>;
/** What a lead says: an amendment says all of it anew. */
export type LeadContent = Omit<Amended, 'lead_id' | 'left_out' | keyof LeadSource>;

/** What a lead need not say, and what an amendment can take back. */
export const OPTIONAL = ['contact', 'consent', 'interest', 'metadata'] as const;

/** An agent that names nothing says nothing of where the lead came from. */
const namesNothing = ({ source }: LeadSource): boolean =>
  source.kind === 'agent' && source.ref === undefined;

/** Attribution is stable: only a lead that came through nothing but its agent takes another source. */
export const isSettled = (state: LeadSource, from: LeadSource): boolean =>
  state.source.kind !== 'agent' &&
  !namesNothing(from) &&
  (state.source.kind !== from.source.kind || state.source.ref !== from.source.ref);

/** The fact that a lead says this from now on, and came from there. */
export const amendment = (state: Submitted, content: LeadContent, from: LeadSource): Amended => {
  const left_out = OPTIONAL.filter(
    (member) => state[member] !== undefined && content[member] === undefined,
  );
  return {
    lead_id: state.lead_id,
    ...content,
    ...(left_out.length > 0 && { left_out }),
    ...(state.source.kind === 'agent' && !namesNothing(from) && from),
  };
};

/** What the fact changes of the lead; undefined is what it takes away. */
export const amended = ({ left_out = [], source, dims, ...said }: Amended): Partial<Submitted> => ({
  ...said,
  ...(source && dims && { source, dims }),
  ...Object.fromEntries(left_out.map((member) => [member, undefined])),
});
