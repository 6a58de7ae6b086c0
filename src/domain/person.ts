const folded = (name: string): string =>
  name.normalize('NFKC').toLowerCase().normalize('NFKC').trim().replaceAll(/\s+/gu, ' ');

/** Whether two names are one person's: case, width and spaces tell nobody apart. */
export const isOneName = (one: string, other: string): boolean => folded(one) === folded(other);
