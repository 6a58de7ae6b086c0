/** Makes one log the same as another. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { requireKnownTypes } from '#src/stores/event-codec.ts';
import { prepareDirectory } from '#src/system/directory.ts';
import { hasRoot, systemSecrets } from '#src/system/secrets.ts';
import { type CopiedKeys, copyKeys } from '#src/transfer/copy-keys.ts';
import {
  copyLog,
  type CopyPhase,
  type CopySource,
  type CopyTarget,
} from '#src/transfer/copy-log.ts';
import { readConfig, redactUrl } from '#src/config.ts';
import {
  AppendTooLarge,
  type EventLog,
  LogUnavailable,
  UnknownEventType,
} from '#src/ports/event-log.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import type { MovableKeys } from '#src/ports/system.ts';
import { CommandError, EXIT, formatPlural, printResult } from '../terminal/output.ts';
import { type Progress, startProgress } from '../terminal/progress.ts';

/** One end of a copy: its events, and the keys of personal data beside them. */
type End<Log, Keys> = { log: Log; keys(vaultKey: Buffer): Promise<Keys> };
/** Undefined keys: the source has no vault. */
type SourceEnd = End<CopySource, Pick<MovableKeys, 'keyOf'> | undefined>;
type TargetEnd = End<CopyTarget, MovableKeys>;
type CopyUrls = { from: string; to: string };
type Copied = { result: Awaited<ReturnType<typeof copyLog>>; keys: CopiedKeys };

/** A copy holds the events as they are stored, without upcasts. */
const NO_UPCASTS = {};
const NO_KEYS: CopiedKeys = { subjects: 0, destroyed: 0, differing: [] };

const HINTS = {
  same: 'Name two logs.',
  foreign: 'Copy into an empty log, or into one that holds only the beginning of this source.',
  differs: 'The copy cannot be used. Copy into an empty log.',
};
const RUN_AGAIN = 'Run the same command again: it continues where this one stopped.';

const directoryOf = (url: string): string | undefined =>
  url.startsWith('sqlite:') ? resolve(url.slice('sqlite:'.length)) : undefined;

const requireLogUrl = (url: string): void => {
  const isDirectory = /^sqlite:(?!log$|$)/.test(url);
  if (isDirectory || /^esdb(?:\+discover)?:\/\/[^/?#\s]+/.test(url)) return;
  throw new CommandError(
    EXIT.usage,
    `${redactUrl(url)} names no log: use sqlite:DIRECTORY (a data directory) or esdb://HOST.`,
  );
};

const openRemote = async (
  url: string,
  stack: AsyncDisposableStack,
): Promise<End<EventLog, MovableKeys>> => {
  const { eventStoreLog } = await import('#src/stores/eventstoredb/event-log.ts');
  const log = await eventStoreLog({ url, upcasts: NO_UPCASTS });
  stack.defer(() => log.close());
  return { log, keys: (vaultKey) => log.keyVault(vaultKey) };
};

const openSource = async (url: string, stack: AsyncDisposableStack): Promise<SourceEnd> => {
  const directory = directoryOf(url);
  if (directory === undefined) return openRemote(url, stack);
  const { sqliteLogSource } = await import('#src/stores/sqlite/log/log-open.ts');
  const log = sqliteLogSource(directory);
  stack.defer(() => log.close());
  const file = join(directory, 'keys.db');
  const keys = async (vaultKey: Buffer) => {
    if (!existsSync(file)) return undefined;
    const { openKeysToRead } = await import('#src/stores/sqlite/keys/read-only-keys.ts');
    const vault = openKeysToRead(file, vaultKey);
    stack.defer(() => vault?.close());
    return vault;
  };
  return { log, keys };
};

const openTarget = async (url: string, stack: AsyncDisposableStack): Promise<TargetEnd> => {
  const directory = directoryOf(url);
  if (directory === undefined) return openRemote(url, stack);
  prepareDirectory(directory);
  const { sqliteEventLog } = await import('#src/stores/sqlite/log/event-log.ts');
  const log = sqliteEventLog({ directory, upcasts: NO_UPCASTS });
  stack.defer(() => log.close());
  const keys = async (vaultKey: Buffer) => {
    const { sqliteKeyVault } = await import('#src/stores/sqlite/keys/key-vault.ts');
    const vault = sqliteKeyVault(join(directory, 'keys.db'), vaultKey);
    stack.defer(() => vault.close());
    return vault;
  };
  return { log, keys };
};

/** Derives the key that encrypts the keys at both ends: both need the same root. */
const vaultKeyFor = (directories: readonly (string | undefined)[]): Buffer => {
  const { rootKey: root } = readConfig();
  const directory = directories.find((each) => each !== undefined && hasRoot(each));
  if (root === undefined && directory === undefined)
    throw new StartupError(
      'ROOT_KEY is not set, and without it the keys of personal data cannot be copied. Set it to the ' +
        'ROOT_KEY of the source.',
    );
  return systemSecrets({ ...(directory && { directory }), ...(root && { root }) }).vaultKey;
};

/** Whether a source has keys to copy: a directory may have no vault. */
const hasKeys = (url: string): boolean => {
  const directory = directoryOf(url);
  return directory === undefined || existsSync(join(directory, 'keys.db'));
};

/** The same source, whose reads throw UnknownEventType: a copy that misses an event must not succeed. */
const requiringKnownTypes = (from: CopySource): CopySource => ({
  id: from.id,
  head: () => from.head(),
  async readAll(page) {
    const events = await from.readAll(page);
    requireKnownTypes(events);
    return events;
  },
});

const showPhases = (length: number, unit: string) => {
  let phase: CopyPhase | undefined;
  let bar: Progress | undefined;
  return {
    update(next: CopyPhase, position: number): void {
      const total = Math.max(length, position);
      if (next !== phase) {
        bar?.stop();
        bar = startProgress({ label: next.padEnd('compare'.length), total, unit });
      }
      phase = next;
      bar?.update(position, total);
    },
    stop: () => bar?.stop(),
  };
};

const commandErrorOf = (error: unknown): unknown => {
  if (error instanceof LogUnavailable)
    return new CommandError(EXIT.unknown, `a log gave no answer: ${error.message}. ${RUN_AGAIN}`);
  if (error instanceof AppendTooLarge)
    return new CommandError(EXIT.refused, `the target refuses an event: ${error.message}.`);
  if (error instanceof UnknownEventType)
    return new CommandError(EXIT.refused, `${error.message}. Copy the log with that version.`);
  return error;
};

/** Copies the events and then the keys. Without `vaultKey` there are no keys to copy. */
const copyEverything = async (
  { from, to }: CopyUrls,
  vaultKey: Buffer | undefined,
): Promise<Copied> => {
  await using stack = new AsyncDisposableStack();
  const source = await openSource(from, stack);
  const target = await openTarget(to, stack);
  const vaults = vaultKey && {
    from: await source.keys(vaultKey),
    to: await target.keys(vaultKey),
  };
  const { position } = await source.log.head();
  // The embedded log numbers its events; positions of EventStoreDB are bytes.
  const unit = directoryOf(from) === undefined ? 'bytes' : 'events';
  const { update: onProgress, stop } = showPhases(position, unit);
  try {
    const result = await copyLog(requiringKnownTypes(source.log), target.log, { onProgress });
    if (!result.ok || !vaults?.from) return { result, keys: NO_KEYS };
    return { result, keys: await copyKeys(target.log, { from: vaults.from, to: vaults.to }) };
  } catch (error) {
    throw commandErrorOf(error);
  } finally {
    stop();
  }
};

export const copyLogs = async (
  from: string,
  to: string,
  options: { json?: boolean },
): Promise<void> => {
  for (const url of [from, to]) requireLogUrl(url);
  if (from === to || (directoryOf(from) ?? '') === directoryOf(to))
    throw new CommandError(EXIT.refused, `both are the same log. ${HINTS.same}`);
  // Required before anything is copied, so that a copy without its keys is never begun.
  const vaultKey = hasKeys(from) ? vaultKeyFor([from, to].map(directoryOf)) : undefined;
  const { result, keys } = await copyEverything({ from, to }, vaultKey);
  const urls = { from: redactUrl(from), to: redactUrl(to) };
  if (!result.ok) {
    const { fault, detail } = result;
    const text = `${urls.to} is not a copy of ${urls.from}: ${detail}. ${HINTS[fault]}`;
    const exit = fault === 'differs' ? EXIT.differs : EXIT.refused;
    throw new CommandError(exit, text, { ...urls, fault, detail });
  }
  if (keys.differing.length > 0)
    throw new CommandError(
      EXIT.differs,
      `every event was copied, but ${urls.to} already had another key of ` +
        `${formatPlural(keys.differing.length, 'subject')}: ${keys.differing.slice(0, 3).join(', ')}.`,
      { ...urls, fault: 'keys', subjects: keys.differing },
    );
  const { events, present, isBehind } = result;
  const copied = events - present;
  const report = { ...urls, events, copied, present, verified: true, behind: isBehind };
  const more = isBehind
    ? ' The source has new events: stop its service, and run this command again.'
    : '';
  printResult(
    options,
    { ...report, keys: keys.subjects, erased: keys.destroyed },
    `${formatPlural(events, 'event')} in ${urls.to}, each compared with ${urls.from}; ` +
      `${formatPlural(copied, 'event')} copied now, with the keys of ${formatPlural(keys.subjects, 'subject')}.${more}`,
  );
};
