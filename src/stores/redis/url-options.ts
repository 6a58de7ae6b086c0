/** Connection options in READ_MODEL_URL. */
import { StartupError } from '#src/ports/startup-error.ts';
import { readCertificate } from '#src/system/certificate-file.ts';
import { isLoopback } from '#src/system/hosts.ts';

const PORT = 6379;
const OPTIONS = ['tlsCAFile'];

/** The URL without user, password and options, for messages. */
export const urlWithoutSecrets = ({ protocol, host, pathname }: URL): string =>
  `${protocol}//${host}${pathname}`;

/**
 * Says what others on the network can do; undefined if the connection uses TLS or does not leave this
 * machine.
 */
export const networkRiskOf = ({ protocol, hostname, password }: URL): string | undefined => {
  if (protocol === 'rediss:' || isLoopback(hostname)) return undefined;
  return password
    ? 'anybody on the network path can read the password and the business data of all owners, and change both'
    : 'anybody who can reach the port can read and change the business data of all owners';
};

const refuse = (url: URL, reason: string): never => {
  throw new StartupError(`READ_MODEL_URL (${urlWithoutSecrets(url)}) cannot be used: ${reason}.`);
};

/** Rejects unknown options: the client would use each as one of its own. */
const requireKnownOptions = (url: URL): void => {
  for (const name of url.searchParams.keys())
    if (!OPTIONS.includes(name))
      refuse(url, `the option ${name} is not supported. Supported: ${OPTIONS.join(', ')}`);
  if (url.searchParams.has('tlsCAFile') && url.protocol !== 'rediss:')
    refuse(url, 'tlsCAFile requires rediss://');
};

/** Throws StartupError for an invalid URL, and for a file that is not a certificate. */
export const connectionOptions = (url: URL) => {
  requireKnownOptions(url);
  const { hostname, port, username, password, pathname, protocol, searchParams } = url;
  const database = pathname.slice(1);
  if (!/^\d{0,4}$/.test(database)) refuse(url, 'the path must be the number of a database');
  const file = searchParams.get('tlsCAFile');
  const certificate = file === null ? undefined : readCertificate(file);
  if (certificate && 'fault' in certificate) return refuse(url, certificate.fault);
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port || PORT),
    db: Number(database),
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' && { tls: certificate ?? {} }),
  };
};
