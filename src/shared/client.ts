/** Where a person is, and with what, in words. */

const LOOPBACK = /^(?:127\.|::1$|::ffff:127\.)/;
const PRIVATE = /^(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|169\.254\.|f[cd]|fe80:)/i;

/** The network of an address, in words. Where a network is, nobody here can know. */
export const networkText = (address: string): string => {
  if (LOOPBACK.test(address)) return 'this machine';
  const plain = address.replace(/^::ffff:/, '');
  if (PRIVATE.test(plain)) return 'the local network';
  return plain.includes(':')
    ? `the network ${plain.split(':').slice(0, 3).join(':')}::/48`
    : `the network ${plain.replace(/\.\d+$/, '.0')}/24`;
};

const BROWSERS = [
  ['Edg', 'Edge'],
  ['OPR', 'Opera'],
  ['SamsungBrowser', 'Samsung Internet'],
  ['Firefox', 'Firefox'],
  ['FxiOS', 'Firefox'],
  ['CriOS', 'Chrome'],
  ['Chrome', 'Chrome'],
  ['Safari', 'Safari'],
] as const;
const SYSTEMS = [
  ['iPhone', 'an iPhone'],
  ['iPad', 'an iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const;

/** A browser in words, from its User-Agent header. */
export const deviceOf = (userAgent: string | undefined): string => {
  const named = (words: readonly (readonly [string, string])[]): string | undefined =>
    words.find(([token]) => userAgent?.includes(token))?.[1];
  const system = named(SYSTEMS);
  return `${named(BROWSERS) ?? 'A browser'}${system === undefined ? '' : ` on ${system}`}`;
};

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Whether a request has what browsers send: Sec-Fetch headers or, from older ones, a language and a User-Agent of theirs. A
 * program can send both, so this is evidence and no proof.
 */
export const clientKindOf = (headers: Headers): 'browser' | 'program' => {
  const isOlder =
    headers['accept-language'] !== undefined &&
    String(headers['user-agent']).startsWith('Mozilla/');
  return headers['sec-fetch-mode'] !== undefined || isOlder ? 'browser' : 'program';
};
