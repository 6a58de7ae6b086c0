import type { ListQuery, ReadModels, Row } from '#src/ports/read-model.ts';
import { present } from '#src/shared/present.ts';
import { eventLoopTurns } from '#src/shared/turns.ts';

type Reader = Pick<ReadModels, 'list'>;

/** Reads one page; `next_before` is where the next one starts, and null on the last. */
export const pageOf = async <R extends Row>(
  readModels: Reader,
  name: string,
  { scope, before, limit }: { scope: string; before?: number | undefined; limit: number },
): Promise<{ rows: R[]; next_before: number | null }> => {
  const rows = await readModels.list<R>(name, { scope, limit: limit + 1, ...present({ before }) });
  const page = rows.slice(0, limit);
  const next = rows.length > limit ? (page.at(-1)?.sort ?? null) : null;
  return { rows: page.map(({ row }) => row), next_before: next };
};

/** Reads all rows of the query in pages of `query.limit`; ends after a page that is not full. */
export const listing = async function* <R extends Row>(
  readModels: Reader,
  name: string,
  query: ListQuery,
): AsyncGenerator<{ row: R; sort: number; key: string }[], void> {
  for (let rest = query; ; ) {
    await eventLoopTurns.pause();
    const page = await readModels.list<R>(name, rest);
    yield page;
    const last = page.at(-1);
    if (!last || page.length < query.limit) return;
    rest = { ...query, before: last.sort };
  }
};

/** Reads all pages of a desk list and joins their data into the last page. */
export const everyPage = async <Page extends { data: unknown[]; next_before: number | null }>(
  pageFrom: (before: number | undefined) => Promise<Page>,
): Promise<Page> => {
  const data: unknown[] = [];
  for (let before: number | undefined; ; ) {
    const page = await pageFrom(before);
    data.push(...page.data);
    if (page.next_before === null) return { ...page, data };
    before = page.next_before;
  }
};
