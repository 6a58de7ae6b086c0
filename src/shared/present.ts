/** Copies objects without undefined members, for answers and events, whose absent members are left out. */
type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Copies the members that are not undefined. */
export const present = <T extends object>(members: T): Present<T> => {
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(members)) if (value !== undefined) copy[name] = value;
  return copy as Present<T>;
};
