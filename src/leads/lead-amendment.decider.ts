import type { EventData } from '#contracts/registries/events.ts';
import { isSameValue } from '#src/shared/equality.ts';

type Submitted = EventData<'LeadSubmitted'>;
type Amended = EventData<'LeadAmended'>;

/** Where a lead came from, with the dimensions to attribute it to. */
export type LeadSource = Pick<Submitted, 'source' | 'link_id' | 'handoff_id' | 'dims'>;
/** The content of a lead; an amendment replaces all of it. */
export type LeadContent = Omit<Amended, 'lead_id' | 'left_out' | keyof LeadKeys | keyof LeadSource>;

/** Keyed hashes by which a lead is found. */
export type LeadKeys = Pick<Amended, 'mailbox_keys' | 'hint_keys'>;

type OptionalMember = Exclude<keyof LeadContent, 'company'>;
// A record, because the compiler then reports a member that is missing here.
const IS_OPTIONAL: Record<OptionalMember, true> = {
  contact: true,
  consent: true,
  interest: true,
  metadata: true,
};

/** Members that a lead may omit, and that an amendment can remove. */
export const OPTIONAL_MEMBERS = Object.keys(IS_OPTIONAL) as OptionalMember[];

/** An agent without a reference gives no information about the origin of the lead. */
const isUnspecified = ({ source }: LeadSource): boolean =>
  source.kind === 'agent' && source.ref === undefined;

/** Whether `from` contradicts the source of the lead, which is fixed once it is not the agent itself. */
export const isSourceFixed = (state: LeadSource, from: LeadSource): boolean =>
  state.source.kind !== 'agent' &&
  !isUnspecified(from) &&
  (state.source.kind !== from.source.kind || state.source.ref !== from.source.ref);

/** Makes the data of the event that replaces the content, and the source if it is not fixed. */
export const amendmentOf = (state: Submitted, content: LeadContent, from: LeadSource): Amended => {
  const left_out = OPTIONAL_MEMBERS.filter(
    (member) => state[member] !== undefined && content[member] === undefined,
  );
  return {
    lead_id: state.lead_id,
    ...content,
    ...(left_out.length > 0 && { left_out }),
    ...(state.source.kind === 'agent' && !isUnspecified(from) && from),
  };
};

/** The members that an amendment sets; undefined removes a member. */
export const amendedMembers = ({
  left_out = [],
  source,
  dims,
  ...content
}: Amended): Partial<Submitted> => ({
  ...content,
  ...(source && dims && { source, dims }),
  ...Object.fromEntries(left_out.map((member) => [member, undefined])),
});

/** Whether the lead has all values of the amendment already. Sealed texts are compared as ciphertexts. */
export const isUnchanged = (state: Submitted, data: Amended): boolean =>
  Object.entries(amendedMembers(data)).every(([member, value]) =>
    isSameValue(state[member as keyof Submitted], value),
  );
