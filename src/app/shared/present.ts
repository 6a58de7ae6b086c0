type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Copies the members that are not undefined. */
export const present = <T extends object>(members: T): Present<T> => {
  const copy: Present<T> = {};
  // `Object.entries` takes four times as long.
  for (const name of Object.keys(members) as (keyof T)[])
    if (members[name] !== undefined) copy[name] = members[name] as Present<T>[keyof T];
  return copy;
};
