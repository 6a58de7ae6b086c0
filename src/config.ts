import { z } from 'zod';
import { LIMITS } from '#contracts/limits.ts';

/** What the environment may set; flags of the command line win over it. */
export type Config = {
  host: string;
  port: number;
  dataDirectory: string;
  /** What all credentials and keys are derived from, where several processes must agree on them. */
  rootKey: Buffer | undefined;
  /** A text: several hosts, as EventStoreDB takes them, are no URL to the standard. May hold a password. */
  eventLogUrl: string;
  /** May hold a password. */
  readModelUrl: URL;
  /** Public origin, without a slash at the end; derived from host and port when it is not set. */
  publicUrl: string | undefined;
  /** A header set by a trusted proxy that holds the visitor's country, for example CF-IPCountry. */
  countryHeader: string | undefined;
  trustProxy: boolean | string;
  logLevel: string;
  readsPerMinute: number;
  writesPerMinute: number;
  outreachPerMinute: number;
  /** Where the file channel puts what was approved; `outbox` in the data directory when it is not set. */
  outboxDirectory: string | undefined;
  /** `host:port` of outreach receivers that may be private and plain HTTP. */
  outreachPrivateHosts: readonly string[];
  production: boolean;
};

const whole = (min: number, max: number) =>
  z
    .string()
    .refine((value) => /^\d{1,9}$/.test(value) && Number(value) >= min && Number(value) <= max, {
      error: `must be a whole number from ${min} to ${max}`,
    })
    .transform(Number);

const perMinute = (usual: number) => whole(1, 100_000_000).default(usual);
const REMOTE_LOG = /^esdb(\+discover)?:\/\/[^/?#\s]+/;
const REMOTE_VIEWS = /^rediss?:\/\/[^/?#\s]+/;

/** An embedded store, by its scheme, or a server. The text is not repeated: it may hold a password. */
const store = (embedded: readonly string[], server: RegExp, forms: string) =>
  z
    .string()
    .min(1, { error: 'is set to nothing; give it a URL, or leave it out', abort: true })
    .refine(
      (value) =>
        server.test(value) || (URL.canParse(value) && embedded.includes(new URL(value).protocol)),
      { error: `must be a URL that starts with one of ${embedded.join(' ')} ${forms}` },
    );

/** As a URL shows host and port, since that is what it is compared with. */
const hostPort = z
  .string()
  .refine((value) => /^[^/?#@\s]+:\d{1,5}$/.test(value) && URL.canParse(`http://${value}`), {
    error: 'must be host:port, several separated by commas',
  })
  .transform((value) => {
    const { hostname } = new URL(`http://${value}`);
    return `${hostname}:${Number(value.slice(value.lastIndexOf(':') + 1))}`;
  });

/** An address, a network in CIDR notation, or a range by its name. */
const proxy = z.union([
  z.ipv4(),
  z.ipv6(),
  z.cidrv4().refine((text) => !text.endsWith('/0')),
  z.cidrv6().refine((text) => !text.endsWith('/0')),
  z.enum(['loopback', 'linklocal', 'uniquelocal']),
]);

/** As fastify takes it, but what it would take and never obey (`1`) or end on (`maybe`) is refused here. */
const proxies = z
  .string()
  .transform((value) => value.split(',').map((each) => each.trim()))
  .refine(
    (found) =>
      ['true', 'false'].includes(found.join()) ||
      found.every((each) => proxy.safeParse(each).success),
    {
      error:
        'must be true (every sender is a proxy of yours), false, or the addresses of the proxies ' +
        'separated by commas, like 10.0.0.0/8,::1 or loopback (also linklocal, uniquelocal)',
    },
  )
  .transform((found) => found.join())
  .transform((value) => (value === 'true' ? true : value === 'false' ? false : value));

const isOrigin = (value: string): boolean => {
  if (!/^https?:\/\//i.test(value) || !URL.canParse(value)) return false;
  const { href, origin } = new URL(value);
  return href === `${origin}/` && !/[?#]/.test(value);
};

const environment = z.object({
  HOST: z.string().min(1).default('127.0.0.1'),
  PORT: whole(0, 65_535).default(3000),
  DATA_DIR: z.string().min(1).default('./data'),
  ROOT_KEY: z
    .string()
    .regex(/^[A-Za-z0-9+/]{43}=$/, { error: 'must be 32 bytes in base64: openssl rand -base64 32' })
    .transform((text) => Buffer.from(text, 'base64'))
    .optional(),
  EVENT_LOG_URL: store(
    ['sqlite:', 'memory:'],
    REMOTE_LOG,
    'esdb://HOST esdb+discover://HOST',
  ).default('sqlite:log'),
  READ_MODEL_URL: store(['sqlite:', 'memory:'], REMOTE_VIEWS, 'redis://HOST rediss://HOST')
    .refine((value) => URL.canParse(value), { error: 'must be a URL' })
    .default('sqlite:views'),
  PUBLIC_URL: z
    .string()
    .refine(isOrigin, {
      error: 'must be an origin like https://shop.example, without path, query or user',
    })
    .transform((value) => new URL(value).origin)
    .optional(),
  COUNTRY_HEADER: z
    .string()
    .regex(/^[A-Za-z-]+$/, { error: 'must be the name of a header, like CF-IPCountry' })
    .optional(),
  TRUST_PROXY: proxies.default(false),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  READS_PER_MINUTE: perMinute(LIMITS.READS_PER_MINUTE),
  WRITES_PER_MINUTE: perMinute(LIMITS.WRITES_PER_MINUTE),
  OUTREACH_PER_MINUTE: perMinute(LIMITS.OUTREACH_PER_MINUTE),
  OUTBOX_DIR: z.string().min(1).optional(),
  OUTREACH_PRIVATE_HOSTS: z
    .string()
    .default('')
    .transform((value) => value.split(',').flatMap((host) => host.trim() || []))
    .pipe(z.array(hostPort)),
  NODE_ENV: z.string().optional(),
});

/** The log is a server's, and other processes may work on it. */
export const isRemoteLog = ({ eventLogUrl }: Pick<Config, 'eventLogUrl'>): boolean =>
  REMOTE_LOG.test(eventLogUrl);

/** The read models are a server's, and other processes may fold and read them. */
export const areRemoteViews = ({ readModelUrl }: Pick<Config, 'readModelUrl'>): boolean =>
  REMOTE_VIEWS.test(readModelUrl.href);

/** A store's URL as people may see it: without user, password and options. */
export const shownUrl = (url: string): string =>
  url.replace(/^([^:]+:\/\/)(?:.*@)?([^/?#]*).*$/s, '$1$2');

/** Thrown when a setting cannot be used: names the variable and what it must be. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Not filled in, they are no default: writes would go into a log of this process. */
const NEVER_EMPTY: ReadonlySet<string> = new Set(['EVENT_LOG_URL', 'READ_MODEL_URL']);

/** Reads and checks the settings. Throws ConfigError with one line per fault. */
export const readConfig = (env: Record<string, string | undefined> = process.env): Config => {
  const set = Object.fromEntries(
    Object.entries(env).filter(([name, value]) => value !== '' || NEVER_EMPTY.has(name)),
  );
  const result = environment.safeParse(set);
  if (!result.success) {
    const lines = result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw new ConfigError(lines.join('\n'));
  }
  const e = result.data;
  return {
    host: e.HOST,
    port: e.PORT,
    dataDirectory: e.DATA_DIR,
    rootKey: e.ROOT_KEY,
    eventLogUrl: e.EVENT_LOG_URL,
    readModelUrl: new URL(e.READ_MODEL_URL),
    publicUrl: e.PUBLIC_URL,
    countryHeader: e.COUNTRY_HEADER?.toLowerCase(),
    trustProxy: e.TRUST_PROXY,
    logLevel: e.LOG_LEVEL,
    readsPerMinute: e.READS_PER_MINUTE,
    writesPerMinute: e.WRITES_PER_MINUTE,
    outreachPerMinute: e.OUTREACH_PER_MINUTE,
    outboxDirectory: e.OUTBOX_DIR,
    outreachPrivateHosts: e.OUTREACH_PRIVATE_HOSTS,
    production: e.NODE_ENV === 'production',
  };
};
