/**
 * Every limit; each name has its unit. Published in getConnection and in OpenAPI. The length of a text is in its
 * schema. Reasons and reference points: ../infra/decisions/0009-limits.md.
 */
export const LIMITS = {
  BODY_BYTES_MAX: 262_144,
  HEADER_BYTES_MAX: 8_192,
  URL_BYTES_MAX: 4_096,
  JSON_DEPTH_MAX: 16,
  /** Of a JSON body and of a form, counted before either is examined. */
  JSON_MEMBERS_MAX: 10_000,
  /** Faults that a refusal names. */
  FAULTS_MAX: 20,
  /** What one credential or link sends to one process in bodies. */
  BODY_BYTES_PER_SECOND: 2_097_152,
  PAGE_ROWS_DEFAULT: 25,
  PAGE_ROWS_MAX: 100,
  PERFORMANCE_PAGE_ROWS_DEFAULT: 400,
  PERFORMANCE_PAGE_ROWS_MAX: 1_000,
  PERFORMANCE_FILE_ROWS_MAX: 50_000,
  PERFORMANCE_GROUPS_MAX: 2,
  /** Names of an owner that reports show; later ones are counted together. */
  PERFORMANCE_CLIENTS_MAX: 20,
  SEARCH_IDS_MAX: 100,
  STOCK_STALE_DAYS: 30,
  STOCK_STALE_DAYS_MAX: 365,
  FACET_VALUES_MAX: 50,
  FACET_CATEGORIES_MAX: 500,
  LINKS_PER_CALL_MAX: 100,
  METADATA_MEMBERS_MAX: 20,
  OUTREACH_LINKS_MAX: 10,
  HANDOFF_LINES_MAX: 1_000,
  HANDOFF_REVISIONS_MAX: 500,
  LIST_LINES_MAX: 50,
  LISTS_PER_VISIT_MAX: 5,
  KNOWN_CONTACTS_PER_DAY_MAX: 20,
  PRIVACY_LINKS_PER_DAY: 20,
  LISTS_PER_MINUTE: 10,
  RFQS_PER_DAY: 20,
  CONFIRMATION_DAYS: 14,
  CONFIRMATION_WAIT_MINUTES: 10,
  CONFIRMATION_MAILS_PER_DAY: 3,
  /** Of one process. */
  CONFIRMATION_MAILS_PER_HOUR: 500,
  MAILBOX_BLOCK_DAYS: 90,
  MAILED_LINK_DAYS: 7,
  OWNERS_PER_PERSON_MAX: 20,
  PASSKEYS_PER_PERSON_MAX: 10,
  PASSKEY_MINUTES: 5,
  SIGN_IN_MINUTES: 10,
  SIGN_IN_CODES_MAX: 5,
  /** To one mailbox. */
  SIGN_IN_LINKS_PER_HOUR: 10,
  /** For each way in: links that are asked for, codes that are typed, passkeys, accounts, and so on. */
  SIGN_INS_PER_NETWORK_PER_HOUR: 100,
  SESSION_IDLE_HOURS: 12,
  SESSION_DAYS: 7,
  FRESH_SIGN_IN_MINUTES: 15,
  LOGIN_DAYS: 30,
  /** Between two questions of a command line whether a person has allowed it. */
  DEVICE_LOGIN_POLL_S: 2,
  APPLICATION_DAYS: 30,
  HANDOFF_REVISED_LINES_MAX: 10_000,
  IDEMPOTENCY_KEY_CHARS_MAX: 255,
  READS_PER_MINUTE: 6_000,
  WRITES_PER_MINUTE: 3_000,
  OUTREACH_PER_MINUTE: 60,
  BUYER_ACTS_PER_MINUTE: 120,
  DESK_READS_PER_MINUTE: 6_000,
  DESK_WRITES_PER_MINUTE: 6_000,
  ADDRESS_PAGES_PER_SECOND: 30,
  ADDRESS_REDIRECTS_PER_SECOND: 50,
  ADDRESS_CALLS_PER_SECOND: 500,
  ADDRESS_SOCKETS_MAX: 256,
  ADDRESS_VISITS_PER_MINUTE: 120,
  READS_AT_ONCE: 16,
  WRITES_AT_ONCE: 64,
  ADMISSION_WAIT_MS_MAX: 250,
  UNAUTHENTICATED_PER_MINUTE: 600,
  FAILED_CREDENTIALS_PER_MINUTE: 60,
  CURSOR_AGE_MS_MAX: 86_400_000,
  CONSISTENCY_WAIT_MS_MAX: 2_000,
  CREDENTIALS_UNCONFIRMED_MS_MAX: 10_000,
  HEADERS_WAIT_MS: 10_000,
  REQUEST_WAIT_MS: 15_000,
  HANDLER_WAIT_MS: 5_000,
  READER_WAIT_MS: 30_000,
  KEEP_ALIVE_MS: 65_000,
  /** libuv reads 1,024 events at once; while as many are ready, no timer and no other phase of the event loop runs. */
  SOCKETS_MAX: 1_000,
  PIPELINED_MAX: 512,
  KEYS_PER_AGENT_MAX: 2,
  KEY_DAYS_DEFAULT: 90,
  KEY_DAYS_MAX: 365,
  KEY_NOTICE_DAYS: 14,
  KEY_OVERLAP_HOURS_DEFAULT: 24,
  KEY_OVERLAP_HOURS_MAX: 168,
  LINK_DAYS_MAX: 3_650,
  ATTRIBUTION_DAYS: 30,
  /** As long as the claim of a lead: no click is credited for longer than a submitted lead. */
  ATTRIBUTION_DAYS_MAX: 90,
  HANDOFF_DAYS_DEFAULT: 30,
  HANDOFF_DAYS_MAX: 90,
  LEAD_CLAIM_DAYS: 90,
  PERFORMANCE_DAYS_MAX: 400,
  AUTOMATIC_DELIVERIES_PER_DAY_MAX: 200,
  OUTREACH_DAYS_DEFAULT: 7,
  OUTREACH_DAYS_MAX: 30,
  WEBHOOK_BYTES_MAX: 20_000,
  TOOL_RESULT_BYTES_MAX: 32_768,
  /** Audits that one process folds at a time; those that fold or wait, of one owner and of all, are bounded, too. */
  AUDITS_AT_ONCE: 2,
  AUDITS_PER_OWNER_MAX: 8,
  AUDITS_PENDING_MAX: 32,
  STREAMS_PER_KEY_MAX: 16,
  STREAM_MS_MAX: 900_000,
  PUSH_CONFIGS_PER_TASK_MAX: 10,
  PUSH_CONFIGS_PER_OWNER_MAX: 500,
  IMPORT_PRODUCTS_MAX: 500,
  IMPORT_PRESENT_MAX: 1_000,
} as const;

/** The limits that an operator can configure, by the names of their settings: each has its usual value in LIMITS. */
const RATES = {
  readsPerMinute: 'READS_PER_MINUTE',
  writesPerMinute: 'WRITES_PER_MINUTE',
  outreachPerMinute: 'OUTREACH_PER_MINUTE',
  /** Of one network address. */
  pagesPerSecond: 'ADDRESS_PAGES_PER_SECOND',
  redirectsPerSecond: 'ADDRESS_REDIRECTS_PER_SECOND',
  callsPerSecond: 'ADDRESS_CALLS_PER_SECOND',
  socketsPerAddress: 'ADDRESS_SOCKETS_MAX',
  /** To one link. */
  visitsPerMinute: 'ADDRESS_VISITS_PER_MINUTE',
  /** Sent from one network address to one process. */
  rfqsPerDay: 'RFQS_PER_DAY',
  /** Calls of one key that one process performs at the same time. */
  readsAtOnce: 'READS_AT_ONCE',
  writesAtOnce: 'WRITES_AT_ONCE',
  /** Of one credential or link, in one process. */
  bodyBytesPerSecond: 'BODY_BYTES_PER_SECOND',
  /** A request that would wait longer in one process is refused. */
  admissionWaitMs: 'ADMISSION_WAIT_MS_MAX',
} as const satisfies Record<string, keyof typeof LIMITS>;

export type Rates = Record<keyof typeof RATES, number>;

const NAMES = Object.entries(RATES) as [keyof Rates, keyof typeof LIMITS][];

export const DEFAULT_RATES = Object.fromEntries(
  NAMES.map(([rate, limit]) => [rate, LIMITS[limit]]),
) as Rates;

/** Returns every limit as it is published, with the rates of this service. */
export const publishedLimits = (rates: Rates): Record<string, number> => {
  const limits = {
    ...LIMITS,
    ...Object.fromEntries(NAMES.map(([rate, name]) => [name, rates[rate]])),
  };
  return Object.fromEntries(
    Object.entries(limits).map(([name, value]) => [name.toLowerCase(), value]),
  );
};

/** The limits of a product, for feeds and for the desk. */
export const PRODUCT_LIMITS = {
  SKU_CHARS_MAX: 64,
  TITLE_CHARS_MAX: 200,
  DESCRIPTION_CHARS_MAX: 5_000,
  NAME_CHARS_MAX: 100,
  MPN_CHARS_MAX: 70,
  LEAD_DAYS_MAX: 3_650,
  QUANTITY_MAX: 100_000_000,
  STOCK_MAX: 999_999_999,
  /** In minor units. */
  PRICE_MAX: 1_000_000_000,
  TIERS_MAX: 20,
  CERTIFICATIONS_MAX: 20,
} as const;

/** Events in one answer of readEvents. */
export const EVENTS_PAGE_MAX = 1_000;
