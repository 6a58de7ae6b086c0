import { DISCLOSURES } from '#contracts/boundaries.ts';
import type { EventData } from '#contracts/events/index.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { LinkState } from '#src/domain/link.ts';
import type { Deps } from '../pipeline/deps.ts';
import { type Refusal, refuse, refuseField } from '../pipeline/outcome.ts';
import { linkOf } from '../records/streams.ts';
import { present } from '../shared/present.ts';
import { DAY_MS, endFault, epoch } from '../shared/time.ts';

type Proposed = EventData<'OutboundProposed'>;
type ContentInput = { subject?: string | undefined; text: string; link_ids: string[] };

/** Checks that the links belong to the owner, appear in the text, and are disclosed. */
export const contentOf = async (
  deps: Pick<Deps, 'log'>,
  ownerId: string,
  { subject, text, link_ids }: ContentInput,
): Promise<Proposed['content'] | Refusal> => {
  const links = await Promise.all(link_ids.map((id) => linkOf(deps, ownerId, id)));
  const faultsOf = (
    faulty: (link: LinkState | undefined) => boolean,
    code: string,
    detail: string,
  ) =>
    links.flatMap((link, i) => (faulty(link) ? [{ pointer: `/link_ids/${i}`, code, detail }] : []));
  const unknown = faultsOf((link) => !link, 'not_found', 'is not the id of a link of yours');
  if (unknown.length > 0)
    return refuse('resource_not_found', 'There is no such link.', { errors: unknown });
  const isAbsent = (link?: LinkState) => link !== undefined && !holds(text, link.short_url);
  const errors = faultsOf(isAbsent, 'not_in_text', 'its short_url must appear in the text');
  if (errors.length > 0)
    return refuse('validation_failed', 'Some fields are not valid.', { errors });
  const allText = subject === undefined ? text : `${subject}\n${text}`;
  const hasLink = link_ids.length > 0 || LINK.test(allText);
  if (hasLink && !DISCLOSURES.some((disclosure) => holds(text, disclosure))) {
    const detail = `add one of: ${DISCLOSURES.join(' | ')}`;
    return refuse('disclosure_missing', 'The text contains a link and does not disclose it.', {
      errors: [{ pointer: '/text', code: 'disclosure_missing', detail }],
    });
  }
  return { ...present({ subject }), text, link_ids };
};

/** Text that a reader or an app shows as a link, also without a scheme. */
const LINK = /https?:\/\/|\bwww\.|[\p{L}\p{N}]\.\p{L}{2,}\/|:\d+\/l\//iu;

/** True when `part` appears as a whole: #adventure does not hold #ad, nor a longer link a shorter one. */
const holds = (text: string, part: string): boolean =>
  text
    .split(part)
    .slice(1)
    .some((rest) => !/^[\p{L}\p{N}_-]/u.test(rest));

export const scheduleOf = (
  { not_before, not_after }: { not_before?: string | undefined; not_after?: string | undefined },
  at: number,
): Proposed['schedule'] | Refusal => {
  const until =
    not_after === undefined ? at + LIMITS.OUTREACH_DAYS_DEFAULT * DAY_MS : epoch(not_after);
  const late = endFault(until, at, LIMITS.OUTREACH_DAYS_MAX);
  if (late) return refuseField('/not_after', 'out_of_range', late);
  if (not_before === undefined) return { not_after: until };
  const from = epoch(not_before);
  return from >= until
    ? refuseField('/not_before', 'out_of_range', 'must lie before not_after')
    : { not_before: from, not_after: until };
};
