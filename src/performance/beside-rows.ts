/** What a report shows beside what it counts: names of its groups, and links and campaigns without events. */
import type { Dimension, ReportRow } from '#contracts/performance/records.ts';
import type { HandoffState } from '#src/handoffs/handoff.decider.ts';
import type { LinkState } from '#src/links/link.decider.ts';
import { shownNameOfLink } from '#src/links/links.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { Position } from '#src/ports/event-log.ts';
import { listing } from '#src/reading/lists.ts';
import { present } from '#src/shared/present.ts';
import { DAY_MS } from '#src/shared/time.ts';
import { type Bucket, bucketIn, emptyBucket, type Query } from './calendar.ts';
import { matcherOf, valueOf } from './facts.ts';

type Readers = Pick<Deps, 'readModels' | 'catalog' | 'credentials'>;
type Names = NonNullable<ReportRow['names']>;

/** Names of a value of each dimension that has ids. */
const NAMERS: Partial<
  Record<Dimension, (deps: Readers, ownerId: string, id: string) => Promise<Names>>
> = {
  async link_id(deps, ownerId, id) {
    const link = await deps.readModels.get<LinkState>('links', ownerId, id);
    return link
      ? present({ link_id: shownNameOfLink(deps, link), campaign: link.dims.campaign })
      : {};
  },
  async product_id({ catalog }, _ownerId, id) {
    const product = catalog.byId([id]).get(id) ?? catalog.withdrawn([id]).get(id)?.product;
    return present({ product_id: product?.title });
  },
  async handoff_id({ readModels }, ownerId, id) {
    const list = await readModels.get<HandoffState>('handoffs', ownerId, id);
    return list && !list.made_by_buyer ? { handoff_id: list.title } : {};
  },
  agent_id: async ({ credentials }, _ownerId, id) =>
    present({ agent_id: credentials.agent(id)?.name }),
};

/** Adds the names of the ids in each row. Reads each record once. */
export const withNames = async (
  deps: Readers,
  ownerId: string,
  rows: readonly ReportRow[],
): Promise<ReportRow[]> => {
  const read = new Map<string, Promise<Names>>();
  const namesOf = (dimension: string, id: string): Promise<Names> => {
    let names = read.get(id);
    if (!names) {
      names = NAMERS[dimension as Dimension]?.(deps, ownerId, id) ?? Promise.resolve({});
      read.set(id, names);
    }
    return names;
  };
  return Promise.all(
    rows.map(async (row) => {
      const ids = Object.entries(row.dimensions).filter(
        (one): one is [string, string] => one[0] in NAMERS && typeof one[1] === 'string',
      );
      const names = await Promise.all(ids.map(([dimension, id]) => namesOf(dimension, id)));
      return { ...row, names: Object.assign({}, ...names) as Names };
    }),
  );
};

/** The newest links that are looked at for those without events. */
const LINKS_MAX = 10_000;
const LINKS_READ = 1_000;

/** What rows without events are about: links, or else campaigns; undefined if a report has groups of neither. */
export const emptyBy = ({
  groupBy,
}: Pick<Query, 'groupBy'>): 'link_id' | 'campaign' | undefined => {
  if (groupBy.includes('link_id')) return 'link_id';
  return groupBy.includes('campaign') ? 'campaign' : undefined;
};

/** An empty bucket, at the start of the period, for each of the newest links or their campaigns that `known` lacks. */
export const emptyBuckets = async (
  { readModels }: Pick<Deps, 'readModels'>,
  { ownerId, query, upTo }: { ownerId: string; query: Query; upTo: Position },
  known: readonly Bucket[],
): Promise<Bucket[]> => {
  const by = emptyBy(query);
  if (by === undefined) return [];
  const place = query.groupBy.indexOf(by);
  const seen = new Set(known.map(({ group }) => group[place]));
  const isMatch = matcherOf(query.filters);
  const bucket = bucketIn(query, query.from);
  const empty: Bucket[] = [];
  let read = 0;
  const rows = { scope: ownerId, limit: LINKS_READ };
  for await (const page of listing<LinkState>(readModels, 'links', rows)) {
    for (const { row, sort } of page) {
      const { link_id, agent_id, dims, created_at } = row;
      const all = { ...dims, link_id, agent_id };
      const value = valueOf(all, by);
      const isThere = sort <= upTo && Math.floor(created_at / DAY_MS) <= query.to;
      if (!isThere || value === null || seen.has(value) || !isMatch(all)) continue;
      seen.add(value);
      empty.push(emptyBucket({ bucket, group: query.groupBy.map((one) => valueOf(all, one)) }));
    }
    read += page.length;
    if (read >= LINKS_MAX) break;
  }
  return empty;
};
