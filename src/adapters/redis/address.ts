/** What READ_MODEL_URL says of the way to Redis. */
import { readFileSync } from 'node:fs';
import { StartupError } from '#src/ports/startup-error.ts';

const PORT = 6379;
const OPTIONS = ['tlsCAFile'];

/** The URL without user, password and options, for messages. */
export const shownUrl = ({ protocol, host, pathname }: URL): string =>
  `${protocol}//${host}${pathname}`;

const refuse = (url: URL, what: string): never => {
  throw new StartupError(`READ_MODEL_URL (${shownUrl(url)}) cannot be used: ${what}.`);
};

/** The client would take any option of a URL for one of its own, as a text. */
const requireKnown = (url: URL): void => {
  for (const name of url.searchParams.keys())
    if (!OPTIONS.includes(name))
      refuse(url, `the option ${name} is not known here; ${OPTIONS.join(', ')} is`);
  if (url.searchParams.has('tlsCAFile') && url.protocol !== 'rediss:')
    refuse(url, 'tlsCAFile is for rediss:// alone');
};

const certificateIn = (url: URL, file: string): string => {
  try {
    const text = readFileSync(file, 'utf8');
    if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
  } catch (error) {
    return refuse(url, `the file of tlsCAFile cannot be read (${String(error)})`);
  }
  return refuse(url, `${file}, named by tlsCAFile, holds no certificate in PEM`);
};

type Address = { host: string; port: number; db: number } & {
  [Name in 'username' | 'password']?: string;
} & { tls?: { ca?: string } };

/** Throws StartupError when the URL says what cannot be, or names a file that is no certificate. */
export const addressOf = (url: URL): Address => {
  requireKnown(url);
  const { hostname, port, username, password, pathname, protocol, searchParams } = url;
  const database = pathname.slice(1);
  if (!/^\d{0,4}$/.test(database)) refuse(url, 'behind the host stands the number of a database');
  const file = searchParams.get('tlsCAFile');
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port || PORT),
    db: Number(database),
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' && { tls: file === null ? {} : { ca: certificateIn(url, file) } }),
  };
};
