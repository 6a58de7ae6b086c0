/** The hosts of an event log's URL alone: who reads them need not know the password. */
export const hostsOf = (url: string): string =>
  /^[^:]+:\/\/(?:[^@]*@)?([^/?]*)/.exec(url)?.[1] ?? 'the server';
