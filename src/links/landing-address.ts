/** Adds a query parameter, whose value needs no escape, behind the others: the first of a name counts. */
export const withParameter = (address: string, [name, value]: Parameter): string =>
  `${address}${address.includes('?') ? '&' : '?'}${name}=${value}`;

export type Parameter = readonly [name: string, value: string];
