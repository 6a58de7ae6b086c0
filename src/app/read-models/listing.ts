import type { ListQuery, ReadModels, Row } from '#src/ports/read-model.ts';

/** A page of the query, and where the next one starts: null on the last. */
export const pageOf = async <R extends Row>(
  readModels: Pick<ReadModels, 'list'>,
  name: string,
  { scope, before, limit }: { scope: string; before?: number | undefined; limit: number },
): Promise<{ rows: R[]; next_before: number | null }> => {
  const found = await readModels.list<R>(name, {
    scope,
    limit: limit + 1,
    ...(before !== undefined && { before }),
  });
  const shown = found.slice(0, limit);
  const next = found.length > limit ? (shown.at(-1)?.sort ?? null) : null;
  return { rows: shown.map(({ row }) => row), next_before: next };
};

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

/** A list of the desk for whoever asks there: all its pages as one. */
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
