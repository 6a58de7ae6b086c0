import type { ListQuery, ReadModels, Row } from '#src/ports/read-model.ts';

/** All that the query is about, in pages of its limit; the one that is not full is the last. */
export const listing = async function* <R extends Row>(
  readModels: Pick<ReadModels, 'list'>,
  name: string,
  query: ListQuery,
): AsyncGenerator<{ row: R; sort: number; key: string }[], void> {
  for (let rest = query; ; ) {
    const page = await readModels.list<R>(name, rest);
    yield page;
    const last = page.at(-1);
    if (!last || page.length < query.limit) return;
    rest = { ...query, before: last.sort };
  }
};
