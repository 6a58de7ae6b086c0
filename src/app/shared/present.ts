type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Only the members that are there: what is stored and shown has no null where nothing was said. */
export const present = <T extends object>(members: T): Present<T> => {
  const there: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(members)) if (value !== undefined) there[name] = value;
  return there as Present<T>;
};
