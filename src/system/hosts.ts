/** Hosts of URLs, and certificate files. */
import { readFileSync } from 'node:fs';

/** Returns only the hosts of an event log's URL, for texts that must not show its password. */
export const hostsOf = (url: string): string =>
  /^[^:]+:\/\/(?:[^@]*@)?([^/?]*)/.exec(url)?.[1] ?? 'the server';

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/;

/** Returns true if the host is this machine, also in brackets as in a URL. */
export const isLoopback = (host: string): boolean => LOOPBACK.test(host);

/** Reads the certificate authorities of the option `tlsCAFile`, in PEM format, or says why the file cannot be used. */
export const readCertificate = (file: string): { ca: string } | { fault: string } => {
  try {
    const ca = readFileSync(file, 'utf8');
    if (ca.includes('-----BEGIN CERTIFICATE-----')) return { ca };
  } catch (error) {
    return { fault: `the file of tlsCAFile cannot be read (${String(error)})` };
  }
  return { fault: `${file}, the file of tlsCAFile, has no certificate in PEM format` };
};
