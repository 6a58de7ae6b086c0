const folded = (name: string): string =>
  name.normalize('NFKC').toLowerCase().normalize('NFKC').trim().replaceAll(/\s+/gu, ' ');

/** Whether two names can be those of one person: case, width and spaces do not count. */
export const isOneName = (one: string, other: string): boolean => folded(one) === folded(other);
