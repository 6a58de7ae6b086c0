/** Returns only the hosts of an event log's URL, for texts that must not show its password. */
export const hostsOf = (url: string): string =>
  /^[^:]+:\/\/(?:[^@]*@)?([^/?]*)/.exec(url)?.[1] ?? 'the server';

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/;

/** Returns true if the host is this machine, also in brackets as in a URL. */
export const isLoopback = (host: string): boolean => LOOPBACK.test(host);
