/** Opens the key vault that belongs to the log. */
import { appendFileSync, existsSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type { EventStoreLog } from '#src/stores/eventstoredb/event-log.ts';
import { KEYS_WAY_FORWARD } from '#src/stores/sqlite/keys/key-file.ts';
import {
  acceptedKeyLoss,
  listUnknownSubjects,
  sqliteKeyring,
  sqliteKeyVault,
} from '#src/stores/sqlite/keys/key-vault.ts';
import {
  isWrappedBy,
  openKeyring,
  openKeyringText,
  type Rotation,
  rotateRoot,
} from '#src/system/keyring.ts';
import { systemClock } from '#src/system/ids.ts';
import {
  hasRoot,
  readRoot,
  replaceRoot,
  rootKeyOf,
  secretsOf,
  stagedRootOf,
  type SystemSecrets,
} from '#src/system/secrets.ts';
import { type Config, isRemoteLog } from '#src/config.ts';
import type { EventLog, Position } from '#src/ports/event-log.ts';
import { subjectsIn } from '#src/ports/sealed-text.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import type { KeyringStore, KeyVault } from '#src/ports/system.ts';
import { requireLogFile } from '#src/stores/sqlite/log/event-log.ts';
import { iso } from '#src/shared/time.ts';
import { lockDirectory } from '#src/stores/sqlite/lock.ts';
import { copyKeys } from '#src/transfer/copy-log.ts';
import { openEventLog } from './event-log.ts';
import { commandLogger } from './logger.ts';

/**
 * The root key of the service. All processes of a log share it, so none is created for a remote log: it comes from the
 * environment, or from a file in the data directory. Throws StartupError.
 */
export const openRoot = (config: Config): Buffer => {
  const { dataDirectory: directory, rootKey: root } = config;
  if (isRemoteLog(config) && !root && !hasRoot(directory))
    throw new StartupError(
      'ROOT_KEY is not set, and with EVENT_LOG_URL on a server all processes need the same one: ' +
        'it opens the secrets of the service and the keys of personal data. Create one ' +
        'with "openssl rand -base64 32" and store it safely; for a log that was copied from a data ' +
        'directory, use the content of its root.key.',
    );
  // Reports a missing log file before a missing root key, which this directory may never have had.
  if (!isRemoteLog(config) && !root && !hasRoot(directory)) requireLogFile(directory);
  return rootKeyOf({ directory, root });
};

const isEventStore = (log: EventLog): log is EventStoreLog => 'keyVault' in log;

const keyFileOf = (directory: string): string => join(directory, 'keys.db');

/** Throws StartupError if the file is missing or older than the log. */
const requireKeyFile = async (file: string, log: EventLog, head: Position): Promise<void> => {
  const accepted = acceptedKeyLoss(file);
  // The first start creates the file before the first event: a log without it has lost it.
  if (!existsSync(file) && head > 0 && accepted < head)
    throw new StartupError(
      `${file} is gone, and with it the keys of the personal data in the log beside it. ${KEYS_WAY_FORWARD}`,
    );
  const from = Math.max(accepted, head - NEWEST_EVENTS);
  const missing = from < head ? await subjectsWithoutKey(file, log, from) : 0;
  if (missing > 0)
    throw new StartupError(
      `${file} is older than the log: it has no key of ${missing} subjects in the newest ${head - from} events. ` +
        KEYS_WAY_FORWARD,
    );
};

/** A rotation that was killed before it replaced root.key is completed by the next process that starts. */
const completeRotation = async (
  { dataDirectory, rootKey }: Config,
  store: KeyringStore,
  root: Buffer,
): Promise<Buffer> => {
  const next = rootKey ? undefined : readRoot(stagedRootOf(dataDirectory));
  const text = next && (await store.readKeyring());
  if (!next || !text || !isWrappedBy(text, next)) return root;
  replaceRoot(dataDirectory, next);
  return next;
};

/**
 * Opens the secrets of the service beside their log: on its server, or in a file. Throws StartupError if they are lost or
 * damaged, or another root key wraps them.
 */
export const openSecrets = async (
  config: Config,
  log: EventLog,
  root = openRoot(config),
): Promise<SystemSecrets> => {
  const file = keyFileOf(config.dataDirectory);
  const { position: head } = await log.head();
  if (!isEventStore(log)) await requireKeyFile(file, log, head);
  const store = isEventStore(log) ? log.keyring : sqliteKeyring(file, head > 0);
  const rootKey = await completeRotation(config, store, root);
  return secretsOf(await openKeyring(store, rootKey));
};

/** Names every subject whose key was destroyed, so that a backup that is restored does not bring a key back. */
export const ERASURES_FILE = 'erasures.jsonl';

/**
 * Cuts off a line that a crash or a full disk left unfinished, whose erasure had not begun. Returns how many bytes are left.
 */
const cutUnfinishedLine = (path: string): number => {
  const text = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  const end = text.lastIndexOf('\n') + 1;
  if (end < text.length) truncateSync(path, end);
  return end;
};

/** The first line has no subject: a list without erasures also says which log it is of. */
const listErasures = (directory: string, log: string): ((subject: string) => void) => {
  const path = join(directory, ERASURES_FILE);
  let isWhole = false;
  const append = (erased: { subject?: string }): void => {
    if (!isWhole) cutUnfinishedLine(path);
    isWhole = false;
    const line = JSON.stringify({ log, at: iso(systemClock().now()), ...erased });
    appendFileSync(path, `${line}\n`, { mode: 0o600, flush: true });
    isWhole = true;
  };
  try {
    // So that a file that is missing means that the list is lost.
    if (cutUnfinishedLine(path) === 0) append({});
  } catch {
    // A disk without space: the first erasure tries again.
  }
  return (subject) => append({ subject });
};

/**
 * Opens the keys of personal data beside their log: on its server, or in a file. Throws StartupError if the keys were wrapped
 * with another one.
 */
export const openVault = async (
  { dataDirectory }: Config,
  log: EventLog,
  { vaultKeys }: Pick<SystemSecrets, 'vaultKeys'>,
): Promise<KeyVault> =>
  isEventStore(log)
    ? log.keyVault(vaultKeys)
    : sqliteKeyVault(keyFileOf(dataDirectory), vaultKeys, {
        head: (await log.head()).position,
        onDestroy: listErasures(dataDirectory, log.id),
      });

/** Opens the log on a server to change its keyring. */
const withServer = async (
  config: Config,
  use: (log: EventStoreLog) => Promise<void>,
): Promise<void> => {
  const logger = commandLogger(config.logLevel);
  const { log, close } = await openEventLog(config, { logger, directory: 'inspect' });
  try {
    await use(log as EventStoreLog);
  } finally {
    await close();
  }
};

/**
 * Wraps the keyring, and after a new generation the keys of personal data, with new keys. A call that was interrupted is
 * repeated. Throws StartupError.
 */
export const rotate = async (config: Config, rotation: Rotation): Promise<void> => {
  const { next, isCompromised } = rotation;
  const vaultKeysIn = async (store: KeyringStore): Promise<readonly Buffer[]> => {
    await rotateRoot(store, rotation);
    return openKeyringText((await store.readKeyring()) ?? null, next).known.vault ?? [];
  };
  if (isRemoteLog(config))
    return withServer(config, async (log) => {
      const vault = await log.keyVault(await vaultKeysIn(log.keyring));
      // Each key is stored again, under the newest generation.
      if (isCompromised) await copyKeys(log, { from: vault, to: vault });
    });
  const file = keyFileOf(config.dataDirectory);
  const lock = isCompromised ? lockDirectory(config.dataDirectory) : undefined;
  try {
    const vaultKeys = await vaultKeysIn(sqliteKeyring(file, true));
    // The vault wraps its keys again when it is opened.
    if (isCompromised) await sqliteKeyVault(file, vaultKeys).close();
  } finally {
    lock?.release();
  }
};

/** A vault that is older than its log lacks the keys of the newest events. */
export const NEWEST_EVENTS = 1_000;
const PAGE_EVENTS = 1_000;

/**
 * Counts the subjects that have encrypted data in the log after this position, and neither a key nor an erasure. Such data
 * cannot be decrypted.
 */
export const subjectsWithoutKey = async (
  file: string,
  log: Pick<EventLog, 'readAll'>,
  from: Position,
): Promise<number> => {
  const subjects = new Set<string>();
  const erased = new Set<string>();
  for (let after = Math.max(0, from); ; ) {
    const page = await log.readAll({ after, limit: PAGE_EVENTS });
    const last = page.at(-1);
    if (!last) break;
    for (const { type, data } of page) {
      if (type === 'SubjectErased') erased.add((data as { subject: string }).subject);
      else for (const subject of subjectsIn(data)) subjects.add(subject);
    }
    after = last.position;
  }
  const unerased = subjects.difference(erased);
  return unerased.size === 0 ? 0 : listUnknownSubjects(file, unerased).length;
};
