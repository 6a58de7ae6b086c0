import { z } from 'zod';
import { LIMITS } from '#contracts/limits.ts';

/** What the environment may set; flags of the command line win over it. */
export type Config = {
  host: string;
  port: number;
  dataDirectory: string;
  eventLogUrl: URL;
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

const perMinute = z.coerce.number().int().min(1).max(100_000_000);
const schemes = (...allowed: string[]) =>
  z.string().refine((value) => URL.canParse(value) && allowed.includes(new URL(value).protocol), {
    error: `must be a URL that starts with one of ${allowed.join(' ')}`,
  });

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

const environment = z.object({
  HOST: z.string().min(1).default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(3000),
  DATA_DIR: z.string().min(1).default('./data'),
  EVENT_LOG_URL: schemes('sqlite:', 'memory:').default('sqlite:log'),
  READ_MODEL_URL: schemes('sqlite:', 'memory:').default('sqlite:views'),
  PUBLIC_URL: z.url({ protocol: /^https?$/ }).optional(),
  COUNTRY_HEADER: z
    .string()
    .regex(/^[A-Za-z-]+$/)
    .optional(),
  TRUST_PROXY: z.string().min(1).optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  READS_PER_MINUTE: perMinute.default(LIMITS.READS_PER_MINUTE),
  WRITES_PER_MINUTE: perMinute.default(LIMITS.WRITES_PER_MINUTE),
  OUTREACH_PER_MINUTE: perMinute.default(LIMITS.OUTREACH_PER_MINUTE),
  OUTBOX_DIR: z.string().min(1).optional(),
  OUTREACH_PRIVATE_HOSTS: z
    .string()
    .default('')
    .transform((value) => value.split(',').flatMap((host) => host.trim() || []))
    .pipe(z.array(hostPort)),
  NODE_ENV: z.string().optional(),
});

/** Thrown when a setting cannot be used: names the variable and what it must be. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Reads and checks the settings. Throws ConfigError with one line per fault. */
export const readConfig = (env: Record<string, string | undefined> = process.env): Config => {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
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
    eventLogUrl: new URL(e.EVENT_LOG_URL),
    readModelUrl: new URL(e.READ_MODEL_URL),
    publicUrl: e.PUBLIC_URL?.replace(/\/+$/, ''),
    countryHeader: e.COUNTRY_HEADER?.toLowerCase(),
    trustProxy:
      e.TRUST_PROXY === undefined ? false : e.TRUST_PROXY === 'true' ? true : e.TRUST_PROXY,
    logLevel: e.LOG_LEVEL,
    readsPerMinute: e.READS_PER_MINUTE,
    writesPerMinute: e.WRITES_PER_MINUTE,
    outreachPerMinute: e.OUTREACH_PER_MINUTE,
    outboxDirectory: e.OUTBOX_DIR,
    outreachPrivateHosts: e.OUTREACH_PRIVATE_HOSTS,
    production: e.NODE_ENV === 'production',
  };
};
