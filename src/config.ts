/** The settings, from environment variables, and the roles of a process. */
import { z } from 'zod';
import { deliveryAddress, mailbox } from '#contracts/mailbox.ts';
import { LIMITS } from '#contracts/limits.ts';
import { DESK_ROLE_NAMES, type DeskRole } from '#contracts/scopes.ts';
import type { EventType } from '#contracts/registries/events.ts';
import { StartupError } from '#src/ports/startup-error.ts';

/** Normalizes host and port as URLs do, because they are compared with parts of URLs. */
const hostPort = z
  .string()
  .refine((value) => /^[^/?#@\s]+:\d{1,5}$/.test(value) && URL.canParse(`http://${value}`), {
    error: 'must be host:port, several separated by commas',
  })
  .transform((value) => {
    const { hostname } = new URL(`http://${value}`);
    return `${hostname}:${Number(value.slice(value.lastIndexOf(':') + 1))}`;
  });

/** An address, a network in CIDR notation, or a named range. */
const proxy = z.union([
  z.ipv4(),
  z.ipv6(),
  z.cidrv4().refine((text) => !text.endsWith('/0')),
  z.cidrv6().refine((text) => !text.endsWith('/0')),
  z.enum(['loopback', 'linklocal', 'uniquelocal']),
]);

/** Values of fastify's `trustProxy`, except those that it ignores (`1`) or crashes on (`maybe`). */
const proxies = z
  .string()
  .transform((value) => value.split(',').map((each) => each.trim()))
  .refine(
    (entries) =>
      ['true', 'false'].includes(entries.join()) ||
      entries.every((each) => proxy.safeParse(each).success),
    {
      error:
        'must be true (all senders are your proxies), false, or the addresses of your proxies ' +
        'separated by commas, like 10.0.0.0/8,::1 or loopback (also linklocal, uniquelocal)',
    },
  )
  .transform((entries): boolean | string => {
    const value = entries.join();
    return value === 'true' || value === 'false' ? value === 'true' : value;
  });

/** An SMTP server. Errors do not quote the URL: it may contain a password. */
const smtpUrl = z
  .string()
  .refine(
    (value) =>
      /^smtps?:\/\/[^/?#\s]+\/?(?:\?tlsCAFile=[^&#\s]+)?$/.test(value) && URL.canParse(value),
    {
      error: 'must be like smtps://USER:PASSWORD@HOST:465 or smtp://HOST:587, or with ?tlsCAFile=',
    },
  )
  .transform((value) => new URL(value));

const isOrigin = (value: string): boolean => {
  if (!/^https?:\/\//i.test(value) || !URL.canParse(value)) return false;
  const { href, origin } = new URL(value);
  return href === `${origin}/` && !/[?#]/.test(value);
};

/** Values that are separated by commas. */
const listOf = <Item extends z.ZodType<unknown, string>>(item: Item) =>
  z
    .string()
    .default('')
    .transform((value) => value.split(',').flatMap((each) => each.trim() || []))
    .pipe(z.array(item));

const originList = listOf(
  z
    .string()
    .refine(isOrigin, {
      error: 'must be origins like https://img.example, without path, separated by commas',
    })
    .transform((value) => new URL(value).origin),
);

/**
 * Event types that an earlier version does not know and that the service can do without during an
 * upgrade, because no state depends on them.
 */
const HOLDABLE_EVENT_TYPES = [
  'CallsAudited',
  'VisitsSummed',
] as const satisfies readonly EventType[];

/** The OpenID provider: HTTPS, or this machine. */
const isIssuer = (value: string): boolean => {
  const url = URL.parse(value);
  if (!url || url.search !== '' || url.hash !== '' || url.username !== '') return false;
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLocal);
};

/** Not those of promoters: an owner acts for promoters that somebody names. */
const HOUSE_ROLES = DESK_ROLE_NAMES.filter((role) => role !== 'owner');
const houseRole = z.enum(HOUSE_ROLES);

/** `NAME=ROLE,NAME=ROLE`, as a map of roles by name. */
const rolesBy = (text: string): Map<string, DeskRole> | undefined => {
  const byName = new Map<string, DeskRole>();
  for (const pair of text.split(',')) {
    const at = pair.lastIndexOf('=');
    const name = pair.slice(0, Math.max(at, 0)).trim();
    const role = houseRole.safeParse(pair.slice(at + 1).trim());
    if (name === '' || !role.success) return undefined;
    byName.set(name, role.data);
  }
  return byName;
};

/** Roles of this form; each text before the `=` is read by `read`. */
const roleMap = (form: string, read: (text: string) => Map<string, DeskRole> | undefined) =>
  z.string().transform((value, context) => {
    const byName = read(value);
    if (byName) return byName;
    const error = `must be like ${form}, with roles of ${HOUSE_ROLES.join(', ')}`;
    context.addIssue({ code: 'custom', message: error });
    return z.NEVER;
  });

const DOMAIN = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/;

/** Roles by the domain of a mailbox, in ASCII and lower case as `canonicalAddress` has it. */
const domainRoles = roleMap('house.example=staff,audit.example=auditor', (text) => {
  const byName = rolesBy(text.toLowerCase());
  return byName && [...byName.keys()].every((domain) => DOMAIN.test(domain)) ? byName : undefined;
});

/** `CLAIM VALUE=ROLE,VALUE=ROLE`. */
const claimRoles = z
  .string()
  .refine((value) => /^\S+\s+\S/.test(value) && rolesBy(value.replace(/^\S+\s+/, '')), {
    error: `must be like groups crew=staff,ops=operator: a claim, and its values with roles of ${HOUSE_ROLES.join(', ')}`,
  })
  .transform((value) => {
    const [claim = ''] = value.split(/\s/);
    return { claim, byValue: rolesBy(value.replace(/^\S+\s+/, '')) ?? new Map<string, DeskRole>() };
  });

const whole = (min: number, max: number) =>
  z
    .string()
    .refine((value) => /^\d{1,9}$/.test(value) && Number(value) >= min && Number(value) <= max, {
      error: `must be a whole number from ${min} to ${max}`,
    })
    .transform(Number);

const rate = (usual: number) => whole(1, 100_000_000).default(usual);
const REMOTE_LOG = /^esdb(\+discover)?:\/\/[^/?#\s]+/;
const REMOTE_READ_MODELS = /^rediss?:\/\/[^/?#\s]+/;

/** The URL of an embedded store, or of a server. Errors do not quote it: it may contain a password. */
const store = (embedded: string, server: RegExp, forms: string) =>
  z
    .string()
    .min(1, { error: 'is empty; set a URL, or remove the variable', abort: true })
    .refine(
      (value) =>
        server.test(value) || (URL.canParse(value) && new URL(value).protocol === embedded),
      { error: `must be a URL that starts with one of ${embedded} ${forms}` },
    );

/** One line of text, for pages and letters. */
const textLine = z
  .string()
  .trim()
  .regex(/^[^\p{C}]{1,300}$/u, { error: 'must be one line of at most 300 characters' });

const environment = z.object({
  HOST: z.string().min(1).default('127.0.0.1'),
  PORT: whole(0, 65_535).default(3000),
  DATA_DIR: z.string().min(1).optional(),
  XDG_CONFIG_HOME: z.string().optional(),
  DESK_TOKEN: z.string().min(1).optional(),
  ROOT_KEY: z
    .string()
    .regex(/^[A-Za-z0-9+/]{43}=$/, { error: 'must be 32 bytes in base64: openssl rand -base64 32' })
    .transform((text) => Buffer.from(text, 'base64'))
    .optional(),
  NOTARY_KEY: z.string().min(1).optional(),
  WITNESSES: z
    .string()
    .transform((text) => text.split(',').map((one) => one.trim().split(/\s+/)))
    .refine(
      (all) =>
        all.every(([url = '', key, ...more]) => URL.canParse(url) && key && more.length === 0),
      {
        error:
          'must be a URL and a key for each, separated by commas: https://w.example w.example+…',
      },
    )
    .transform((all) => all.map(([url = '', key = '']) => ({ url: url.replace(/\/+$/, ''), key })))
    .optional(),
  EVENT_LOG_URL: store('sqlite:', REMOTE_LOG, 'esdb://HOST esdb+discover://HOST').default(
    'sqlite:log',
  ),
  READ_MODEL_URL: store('sqlite:', REMOTE_READ_MODELS, 'redis://HOST rediss://HOST')
    .refine((value) => URL.canParse(value), { error: 'must be a URL' })
    .default('sqlite:views'),
  REDIS_ALLOW_PLAIN: z
    .enum(['0', '1'], { error: 'must be 1, to accept redis:// without TLS, or 0' })
    .default('0'),
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
  IMAGE_ORIGINS: originList,
  ORIGINS: originList,
  TRUST_PROXY: proxies.default(false),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  READS_PER_MINUTE: rate(LIMITS.READS_PER_MINUTE),
  WRITES_PER_MINUTE: rate(LIMITS.WRITES_PER_MINUTE),
  OUTREACH_PER_MINUTE: rate(LIMITS.OUTREACH_PER_MINUTE),
  ADDRESS_PAGES_PER_SECOND: rate(LIMITS.ADDRESS_PAGES_PER_SECOND),
  ADDRESS_REDIRECTS_PER_SECOND: rate(LIMITS.ADDRESS_REDIRECTS_PER_SECOND),
  ADDRESS_CALLS_PER_SECOND: rate(LIMITS.ADDRESS_CALLS_PER_SECOND),
  ADDRESS_SOCKETS_MAX: rate(LIMITS.ADDRESS_SOCKETS_MAX),
  ADDRESS_VISITS_PER_MINUTE: rate(LIMITS.ADDRESS_VISITS_PER_MINUTE),
  RFQS_PER_DAY: rate(LIMITS.RFQS_PER_DAY),
  // Less than the largest body would refuse that body always.
  BODY_BYTES_PER_SECOND: whole(1_048_576, 100_000_000).default(LIMITS.BODY_BYTES_PER_SECOND),
  READS_AT_ONCE: whole(1, 10_000).default(LIMITS.READS_AT_ONCE),
  WRITES_AT_ONCE: whole(1, 10_000).default(LIMITS.WRITES_AT_ONCE),
  ADMISSION_WAIT_MS: whole(10, 100_000_000).default(LIMITS.ADMISSION_WAIT_MS_MAX),
  SECOND_PERSON: z.enum(['needed', 'none']).default('needed'),
  APPROVAL_ABOVE: z
    .string()
    .regex(/^\s*\d+(\.\d+)? [A-Z]{3}\s*(,\s*\d+(\.\d+)? [A-Z]{3}\s*)*$/, {
      error: 'must be amounts, one per currency, like "5000 GBP, 6000.50 EUR"',
    })
    .transform((value) => value.split(','))
    .optional(),
  OUTBOX_DIR: z.string().min(1).optional(),
  OUTREACH_PRIVATE_HOSTS: listOf(hostPort),
  MAIL_URL: smtpUrl.optional(),
  MAIL_FROM: mailbox.optional(),
  STAFF_MAIL: mailbox.optional(),
  HOUSE_NAME: textLine.optional(),
  HOUSE_ADDRESS: textLine.optional(),
  HOUSE_MAILBOX: mailbox.optional(),
  HOUSE_PHONE: textLine.optional(),
  HOUSE_VAT_NUMBER: textLine.optional(),
  PRICES_INCLUDE: z
    .enum(['nothing', 'vat', 'delivery', 'both'], {
      error: 'must be nothing, vat, delivery or both: what the prices of products include',
    })
    .optional(),
  ANSWER_DAYS: whole(1, 60).optional(),
  CONFIRMATION_MAILS_PER_HOUR: rate(LIMITS.CONFIRMATION_MAILS_PER_HOUR),
  OIDC_ISSUER: z
    .string()
    .refine(isIssuer, {
      error:
        'must be a web address like https://id.house.example, without query; http only on this machine',
    })
    .optional(),
  OIDC_CLIENT_ID: z.string().min(1).optional(),
  OIDC_CLIENT_SECRET: z.string().min(1).optional(),
  OIDC_ROLES: claimRoles.optional(),
  OIDC_CREATE: domainRoles.optional(),
  HOLD_EVENT_TYPES: listOf(
    z.enum(HOLDABLE_EVENT_TYPES, {
      error: `must be event types that can be held, separated by commas: ${HOLDABLE_EVENT_TYPES.join()}`,
    }),
  ),
  NODE_ENV: z.string().optional(),
});

/** What buyers read about the seller. */
const HOUSE_SETTINGS = [
  'HOUSE_NAME',
  'HOUSE_ADDRESS',
  'HOUSE_MAILBOX',
  'HOUSE_PHONE',
  'HOUSE_VAT_NUMBER',
  'PRICES_INCLUDE',
  'ANSWER_DAYS',
] as const;

const complete = environment
  .superRefine((env, context) => {
    const other = HOUSE_SETTINGS.find((name) => env[name] !== undefined);
    if (other !== undefined && env.HOUSE_NAME === undefined)
      context.addIssue({
        code: 'custom',
        path: ['HOUSE_NAME'],
        message: `is required with ${other}: the name under which you sell`,
      });
  })
  .refine(({ MAIL_URL, MAIL_FROM }) => MAIL_URL === undefined || MAIL_FROM !== undefined, {
    path: ['MAIL_FROM'],
    error: 'is required with MAIL_URL: the address from which mail is sent',
  })
  .superRefine((env, context) => {
    for (const [name, needed] of OIDC_NEEDS)
      if (env[name] !== undefined && env[needed] === undefined)
        context.addIssue({ code: 'custom', path: [needed], message: `is required with ${name}` });
  })
  .refine(
    ({ SECOND_PERSON, APPROVAL_ABOVE }) => SECOND_PERSON !== 'none' || APPROVAL_ABOVE === undefined,
    {
      path: ['SECOND_PERSON'],
      error:
        'cannot be none with APPROVAL_ABOVE, which asks for a second person: unset one of them',
    },
  );

/** Each of these settings of the OpenID provider needs the other. */
const OIDC_NEEDS = [
  ['OIDC_ISSUER', 'OIDC_CLIENT_ID'],
  ['OIDC_ISSUER', 'OIDC_CLIENT_SECRET'],
  ['OIDC_CLIENT_ID', 'OIDC_ISSUER'],
  ['OIDC_CLIENT_SECRET', 'OIDC_ISSUER'],
  ['OIDC_ROLES', 'OIDC_CREATE'],
  ['OIDC_CREATE', 'OIDC_ISSUER'],
] as const;

/** The provider, and what its accounts may become; undefined if none is set. */
const openIdIn = (env: z.output<typeof complete>) => {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = env;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined)
    return undefined;
  const create = env.OIDC_CREATE ?? new Map<string, DeskRole>();
  return { issuer, clientId, clientSecret, roles: env.OIDC_ROLES, create };
};

/** Who sells; undefined without a name. */
const houseIn = (env: z.output<typeof complete>) =>
  env.HOUSE_NAME === undefined
    ? undefined
    : {
        name: env.HOUSE_NAME,
        address: env.HOUSE_ADDRESS,
        mailbox: env.HOUSE_MAILBOX,
        phone: env.HOUSE_PHONE,
        vatNumber: env.HOUSE_VAT_NUMBER,
        prices: env.PRICES_INCLUDE,
        answerDays: env.ANSWER_DAYS,
      };

/** The settings about the seller that are missing. */
const unsaidIn = (env: z.output<typeof complete>): string[] =>
  HOUSE_SETTINGS.filter((name) => env[name] === undefined);

/** The limits of a process. */
const ratesIn = (env: z.output<typeof complete>) => ({
  readsPerMinute: env.READS_PER_MINUTE,
  writesPerMinute: env.WRITES_PER_MINUTE,
  outreachPerMinute: env.OUTREACH_PER_MINUTE,
  pagesPerSecond: env.ADDRESS_PAGES_PER_SECOND,
  redirectsPerSecond: env.ADDRESS_REDIRECTS_PER_SECOND,
  callsPerSecond: env.ADDRESS_CALLS_PER_SECOND,
  socketsPerAddress: env.ADDRESS_SOCKETS_MAX,
  visitsPerMinute: env.ADDRESS_VISITS_PER_MINUTE,
  rfqsPerDay: env.RFQS_PER_DAY,
  bodyBytesPerSecond: env.BODY_BYTES_PER_SECOND,
  readsAtOnce: env.READS_AT_ONCE,
  writesAtOnce: env.WRITES_AT_ONCE,
  /** Milliseconds that an admitted request may wait for the event loop and the queues of this process. */
  admissionWaitMs: env.ADMISSION_WAIT_MS,
});

/** The settings; flags of the command line override the environment. */
const settings = complete.transform((env) => ({
  host: env.HOST,
  port: env.PORT,
  dataDirectory: env.DATA_DIR ?? './data',
  /** Whether somebody named the data directory, so that commands act on it even if it is empty. */
  isDataNamed: env.DATA_DIR !== undefined,
  /** Where a person's own settings are, by the XDG standard: other values than full paths do not count. */
  configHome: env.XDG_CONFIG_HOME?.startsWith('/') ? env.XDG_CONFIG_HOME : undefined,
  /** Desk token of the command line; by default the one in the data directory. */
  deskToken: env.DESK_TOKEN,
  /** Root secret of all credentials and keys, where several processes must share it. */
  rootKey: env.ROOT_KEY,
  /** File of the keys that sign checkpoints; by default one of the keyring. */
  notaryKey: env.NOTARY_KEY,
  /** Who cosigns checkpoints: the address and the public key of each. */
  witnesses: env.WITNESSES ?? [],
  /** A string, because a list of EventStoreDB hosts is not a standard URL. May contain a password. */
  eventLogUrl: env.EVENT_LOG_URL,
  /** May contain a password. */
  readModelUrl: new URL(env.READ_MODEL_URL),
  /** Whether an unencrypted connection to Redis needs no warning, because the network is private. */
  allowsPlainRedis: env.REDIS_ALLOW_PLAIN === '1',
  /** Public origin without a trailing slash; derived from host and port if not set. */
  publicUrl: env.PUBLIC_URL,
  /** Header with the visitor's country, set by a trusted proxy, for example CF-IPCountry. */
  countryHeader: env.COUNTRY_HEADER?.toLowerCase(),
  /** Origins of other servers whose pictures pages show. */
  imageOrigins: env.IMAGE_ORIGINS,
  /** Origins of other sites whose pages may call MCP and A2A. */
  webOrigins: env.ORIGINS,
  trustProxy: env.TRUST_PROXY,
  logLevel: env.LOG_LEVEL,
  ...ratesIn(env),
  /** Limits per currency, like `5000 GBP`, above which a second person approves a quotation, a correction or a return. */
  approvalAbove: env.APPROVAL_ABOVE,
  /** `none`: one person makes the deals that need two. */
  secondPerson: env.SECOND_PERSON,
  /** Directory of the file channel; `outbox` in the data directory if not set. */
  outboxDirectory: env.OUTBOX_DIR,
  /** `host:port` of outreach receivers that may be private and use plain HTTP. */
  outreachPrivateHosts: env.OUTREACH_PRIVATE_HOSTS,
  /** The SMTP server; mail is stored in a directory if not set. May contain a password. */
  mailUrl: env.MAIL_URL,
  mailFrom: deliveryAddress(env.MAIL_FROM ?? 'tributary@localhost'),
  /** The mailbox that gets the notices for staff. */
  staffMail: env.STAFF_MAIL,
  house: houseIn(env),
  houseUnsaid: unsaidIn(env),
  /** Messages of this process to mailboxes that have confirmed nothing. */
  confirmationMailsPerHour: env.CONFIRMATION_MAILS_PER_HOUR,
  /** The OpenID provider with which people sign in. Has a secret. */
  openId: openIdIn(env),
  /** Event types that this process does not write, because processes of an earlier version use the log. */
  heldEventTypes: env.HOLD_EVENT_TYPES,
  production: env.NODE_ENV === 'production',
}));

export type Config = z.output<typeof settings>;

/** Returns true if the log is on a server, which several processes can share. */
export const isRemoteLog = ({ eventLogUrl }: Pick<Config, 'eventLogUrl'>): boolean =>
  REMOTE_LOG.test(eventLogUrl);

/** Returns true if the read models are on a server, which several processes can share. */
export const hasRemoteReadModels = ({ readModelUrl }: Pick<Config, 'readModelUrl'>): boolean =>
  REMOTE_READ_MODELS.test(readModelUrl.href);

/** Removes user, password and options from the URL of a store, for display. */
export const redactUrl = (url: string): string =>
  url.replace(/^([^:]+:\/\/)(?:.*@)?([^/?#]*).*$/s, '$1$2');

/** An invalid setting; the message names the variable and what it must be. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Empty values of these are errors, because the default would write into a local log. */
const NEVER_EMPTY: ReadonlySet<string> = new Set(['EVENT_LOG_URL', 'READ_MODEL_URL']);

/** Reads and validates the settings. Throws ConfigError with one line for each fault. */
export const readConfig = (env: Record<string, string | undefined> = process.env): Config => {
  const set = Object.fromEntries(
    Object.entries(env).filter(([name, value]) => value !== '' || NEVER_EMPTY.has(name)),
  );
  const { data, error } = settings.safeParse(set);
  if (data) return data;
  const lines = error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new ConfigError(lines.join('\n'));
};

export const PROCESS_ROLES = ['all', 'api', 'projector', 'dispatcher'] as const;
export type ProcessRole = (typeof PROCESS_ROLES)[number];

/** Throws StartupError if the configured stores do not allow a separate process of this role. */
export const requireRole = (role: ProcessRole, config: Config): void => {
  if (role === 'all' || role === 'api') return;
  if (!isRemoteLog(config))
    throw new StartupError(
      `--role ${role} requires a log that processes share, and an embedded log has one process. ` +
        'Set EVENT_LOG_URL=esdb://HOST, or run --role all.',
    );
  if (role === 'projector' && !hasRemoteReadModels(config))
    throw new StartupError(
      '--role projector requires read models that processes share, and embedded ones are folded ' +
        'by the process that reads them. Set READ_MODEL_URL=redis://HOST, or start no projector.',
    );
};

/** Returns true if this process folds the read models that processes can share. */
export const foldsSharedReadModels = (role: ProcessRole, config: Config): boolean =>
  role === 'all' || !isRemoteLog(config);
