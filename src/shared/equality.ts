/** Whether two values of an event are equal. The order of members and members that are undefined do not count. */
export const isSameValue = (one: unknown, other: unknown): boolean =>
  one === other || (isObject(one) && isObject(other) && textOf(one) === textOf(other));

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const textOf = (value: object): string =>
  JSON.stringify(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
