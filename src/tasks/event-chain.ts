import type { AttributionAnswer } from '#contracts/tasks/skills.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import { recordOfStream, streamOfRecord } from '#src/writing/streams.ts';
import { iso } from '#src/shared/time.ts';
import type { Deps } from '#src/calls/call.ts';

/** What a question is about, and the records that it came from. */
export type Subject = {
  kind: AttributionAnswer['subject']['kind'];
  id: string;
  link_id?: string | undefined;
  handoff_id?: string | undefined;
  lead_id?: string | undefined;
  event?: StoredEvent;
};

type Chain = Pick<AttributionAnswer, 'chain' | 'more'>;

const SHOWN_MAX = 100;
/** Limit of the events read to find those of a link; the answer says when there may be more. */
const SCANNED_MAX = 10_000;
const PAGE = 1_000;

/** Fields that attribution depends on. No personal data, no text of a buyer, no reason. */
const FACTS = [
  'agent_id',
  'link_id',
  'handoff_id',
  'lead_id',
  'source',
  'dims',
  'signals',
  'device',
  'trigger',
  'target',
] as const;

/** Events that led to the subject or followed from it, in the order of the log. */
export const eventChain = async (
  { log }: Pick<Deps, 'log'>,
  subject: Subject,
  { ownerId, mayReadLeads }: { ownerId: string; mayReadLeads: boolean },
): Promise<Chain> => {
  const { link_id, handoff_id, lead_id, event } = subject;
  const records = [link_id, handoff_id, lead_id].filter((id) => id !== undefined);
  const readRecord = (id: string) => log.readStream(streamOfRecord(ownerId, id));
  const stored = (await Promise.all(records.map(readRecord))).flat();
  if (event) stored.push(event);
  let more = false;
  const [first] = stored;
  if (subject.kind === 'link' && first) {
    const from = first.position;
    const byLink = await eventsOfLink(log, { ownerId, linkId: subject.id, from });
    const positions = new Set(stored.map(({ position }) => position));
    const isShown = ({ position, type }: StoredEvent): boolean =>
      !positions.has(position) && (mayReadLeads || !type.startsWith('Lead'));
    stored.push(...byLink.events.filter(isShown));
    more = byLink.more;
  }
  stored.sort((a, b) => a.position - b.position);
  return {
    chain: stored.slice(0, SHOWN_MAX).map(shown),
    more: more || stored.length > SHOWN_MAX,
  };
};

/** Events that name the link, after its creation at the position `from`. */
export const eventsOfLink = async (
  log: Deps['log'],
  { ownerId, linkId, from }: { ownerId: string; linkId: string; from: number },
): Promise<{ events: StoredEvent[]; more: boolean }> => {
  const events: StoredEvent[] = [];
  let after = from;
  for (let scanned = 0; scanned < SCANNED_MAX; scanned += PAGE) {
    const page = await log.readOwner(ownerId, { after, limit: PAGE });
    for (const event of page)
      if ((event.data as { link_id?: string }).link_id === linkId) events.push(event);
    if (events.length > SHOWN_MAX) return { events, more: true };
    if (page.length < PAGE) return { events, more: false };
    after = page.at(-1)?.position ?? after;
  }
  return { events, more: true };
};

const shown = ({ position, type, stream, data, meta }: StoredEvent): Chain['chain'][number] => ({
  position,
  at: iso(meta.at),
  type,
  record: recordOfStream(stream) ?? stream.slice(stream.indexOf('-') + 1),
  facts: Object.fromEntries(
    FACTS.flatMap((name) => {
      const value = (data as Record<string, unknown>)[name];
      return value === undefined ? [] : [[name, value]];
    }),
  ),
});
