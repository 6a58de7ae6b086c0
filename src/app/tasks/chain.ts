import type { AttributionAnswer } from '#contracts/skills.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import type { Deps } from '../pipeline/deps.ts';
import { streamOf } from '../records/streams.ts';
import { iso } from '../shared/time.ts';
import type { Subject } from './subject.ts';

type Chain = Pick<AttributionAnswer, 'chain' | 'more'>;

const SHOWN_MAX = 100;
/** Events looked at for what came over a link: bounded work, and the answer says when it ended early. */
const SCANNED_MAX = 10_000;
const PAGE = 1_000;

/** Of an event, only what attribution rests on: no person, no words of a buyer, no reason. */
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

/** The events that led to the subject, and those that followed from it, in the order of the log. */
export const chainOf = async (
  { log }: Pick<Deps, 'log'>,
  ownerId: string,
  subject: Subject,
  mayReadLeads: boolean,
): Promise<Chain> => {
  const { link_id, handoff_id, lead_id, event } = subject;
  const streams = [
    ...(link_id === undefined ? [] : [streamOf(ownerId, 'link', link_id)]),
    ...(handoff_id === undefined ? [] : [streamOf(ownerId, 'handoff', handoff_id)]),
    ...(lead_id === undefined ? [] : [streamOf(ownerId, 'lead', lead_id)]),
  ];
  const stored = (await Promise.all(streams.map((stream) => log.readStream(stream)))).flat();
  if (event) stored.push(event);
  let more = false;
  if (subject.kind === 'link' && stored[0]) {
    const over = await overLink(log, ownerId, subject.id, stored[0].position);
    const known = new Set(stored.map(({ position }) => position));
    const isShown = ({ position, type }: StoredEvent): boolean =>
      !known.has(position) && (mayReadLeads || !type.startsWith('Lead'));
    stored.push(...over.events.filter(isShown));
    more = over.more;
  }
  stored.sort((a, b) => a.position - b.position);
  return {
    chain: stored.slice(0, SHOWN_MAX).map(shown),
    more: more || stored.length > SHOWN_MAX,
  };
};

/** What names the link, from its creation on. */
const overLink = async (
  log: Deps['log'],
  ownerId: string,
  linkId: string,
  from: number,
): Promise<{ events: StoredEvent[]; more: boolean }> => {
  const events: StoredEvent[] = [];
  let after = from - 1;
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

const PREFIXES: Record<string, string> = { link: 'lnk', handoff: 'hnd', lead: 'led' };

/** The id of the record whose stream it is; visits and the like have none of their own. */
const recordOf = (stream: string): string => {
  const name = stream.slice(stream.indexOf('-') + 1);
  const [kind = '', id = ''] = name.split(/_(.*)/s);
  const prefix = PREFIXES[kind];
  return prefix === undefined ? name : `${prefix}_${id}`;
};

const shown = ({ position, type, stream, data, meta }: StoredEvent): Chain['chain'][number] => ({
  position,
  at: iso(meta.at),
  type,
  record: recordOf(stream),
  facts: Object.fromEntries(
    FACTS.flatMap((name) => {
      const value = (data as Record<string, unknown>)[name];
      return value === undefined ? [] : [[name, value]];
    }),
  ),
});
