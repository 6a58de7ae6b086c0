/** Returns only the hosts of an event log's URL, for texts that must not show its password. */
export const hostsOf = (url: string): string =>
  /^[^:]+:\/\/(?:[^@]*@)?([^/?]*)/.exec(url)?.[1] ?? 'the server';
