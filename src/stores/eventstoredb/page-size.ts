/** Pages grow by this factor, so that foreign records are skipped in few round trips. */
export const GROWTH = 8;

/**
 * The size of the next page: what is missing, at the density of events in the page before, and at most GROWTH times as
 * much as before.
 */
export const nextSize = (
  size: number,
  { read, found, missing }: { read: number; found: number; missing: number },
): number =>
  found === 0 ? size * GROWTH : Math.min(size * GROWTH, Math.ceil((missing * read) / found) + 1);
