import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { prepareDirectory } from '#src/adapters/system/directory.ts';
import { hasRoot, systemSecrets } from '#src/adapters/system/secrets.ts';
import { type CopiedKeys, copyKeys } from '#src/app/transfer/copy-keys.ts';
import type { CopyPhase, CopySource, CopyTarget } from '#src/app/transfer/copy-log.ts';
import { copyLog } from '#src/app/transfer/copy-log.ts';
import { readConfig, redactUrl } from '#src/config.ts';
import { AppendTooLarge, type EventLog, LogUnavailable } from '#src/ports/event-log.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import type { MovableKeys } from '#src/ports/system.ts';
import { EXIT, Failure } from '../terminal/exit.ts';
import { finish, plural } from '../terminal/output.ts';
import { progress, type Progress } from '../terminal/progress.ts';

type Options = { json?: boolean };

const directoryOf = (url: string): string | undefined =>
  url.startsWith('sqlite:') ? resolve(url.slice('sqlite:'.length)) : undefined;

const requireForm = (url: string): void => {
  const path = /^sqlite:(?!log$|$)/.test(url);
  if (path || /^esdb(?:\+discover)?:\/\/[^/?#\s]+/.test(url)) return;
  throw new Failure(
    EXIT.usage,
    `${redactUrl(url)} names no log: sqlite:DIRECTORY (a data directory) or esdb://HOST.`,
  );
};

/** As written: what an upcast would make of old events is for readers, not for a copy. */
const AS_WRITTEN = {};

/** One end of a copy: its events, and the keys of personal data beside them. */
type End<Log, Keys> = { log: Log; keys(vaultKey: Buffer): Promise<Keys> };
/** Without keys where there are none, and none are to be made. */
type Source = End<CopySource, Pick<MovableKeys, 'keyOf'> | undefined>;
type Opened = AsyncDisposableStack;

const openRemote = async (url: string, opened: Opened): Promise<End<EventLog, MovableKeys>> => {
  const { eventStoreLog } = await import('#src/adapters/eventstoredb/event-log.ts');
  const log = await eventStoreLog({ url, upcasts: AS_WRITTEN });
  opened.defer(() => log.close());
  return { log, keys: (vaultKey) => log.keyVault(vaultKey) };
};

const openSource = async (url: string, opened: Opened): Promise<Source> => {
  const directory = directoryOf(url);
  if (directory === undefined) return openRemote(url, opened);
  const { sqliteLogSource } = await import('#src/adapters/sqlite/log/log-source.ts');
  const log = sqliteLogSource(directory);
  opened.defer(() => log.close());
  const file = join(directory, 'keys.db');
  const keys = async (vaultKey: Buffer) => {
    if (!existsSync(file)) return undefined;
    const { keysToRead } = await import('#src/adapters/sqlite/keys/key-look.ts');
    const found = keysToRead(file, vaultKey);
    opened.defer(() => found?.close());
    return found;
  };
  return { log, keys };
};

const openTarget = async (url: string, opened: Opened): Promise<End<CopyTarget, MovableKeys>> => {
  const directory = directoryOf(url);
  if (directory === undefined) return openRemote(url, opened);
  prepareDirectory(directory);
  const { sqliteEventLog } = await import('#src/adapters/sqlite/log/event-log.ts');
  const log = sqliteEventLog({ directory, upcasts: AS_WRITTEN });
  opened.defer(() => log.close());
  const keys = async (vaultKey: Buffer) => {
    const { sqliteKeyVault } = await import('#src/adapters/sqlite/keys/key-vault.ts');
    const vault = sqliteKeyVault(join(directory, 'keys.db'), vaultKey);
    opened.defer(() => vault.close());
    return vault;
  };
  return { log, keys };
};

/** What wraps the keys at both ends: from one root, or the copy could not read what it holds. */
const vaultKeyOf = (directories: readonly (string | undefined)[]): Buffer => {
  const { rootKey: root } = readConfig();
  const directory = directories.find((each) => each !== undefined && hasRoot(each));
  if (root === undefined && directory === undefined)
    throw new StartupError(
      'ROOT_KEY is not set, and without it the keys of personal data cannot be copied. Set it to ' +
        'what the processes of the source have.',
    );
  return systemSecrets({ ...(directory && { directory }), ...(root && { root }) }).vaultKey;
};

/** Of a source without a vault there is nothing to bring, and nothing need be known. */
const hasKeys = (url: string): boolean => {
  const directory = directoryOf(url);
  return directory === undefined || existsSync(join(directory, 'keys.db'));
};

/** A bar for each phase, as it begins. */
const phases = (total: number, unit: string) => {
  let phase: CopyPhase | undefined;
  let shown: Progress | undefined;
  return {
    update(now: CopyPhase, position: number): void {
      if (now !== phase) {
        shown?.stop();
        shown = progress(now.padEnd('compare'.length), Math.max(total, position), unit);
      }
      phase = now;
      shown?.update(position, Math.max(total, position));
    },
    stop: () => shown?.stop(),
  };
};

const AGAIN = 'Run the same command again: it goes on where this one stopped.';

const failureOf = (error: unknown): unknown => {
  if (error instanceof LogUnavailable)
    return new Failure(EXIT.unknown, `a log gave no answer: ${error.message}. ${AGAIN}`);
  if (error instanceof AppendTooLarge)
    return new Failure(EXIT.refused, `the target does not take it: ${error.message}.`);
  return error;
};

const NO_KEYS: CopiedKeys = { subjects: 0, destroyed: 0, differing: [] };

const HINTS = {
  same: 'Name two logs.',
  foreign:
    'Copy into an empty log, or into one that holds nothing but the beginning of this source.',
  differs: 'The copy cannot be used. Copy into an empty log.',
};

const copy = async (fromUrl: string, toUrl: string, options: Options): Promise<void> => {
  for (const url of [fromUrl, toUrl]) requireForm(url);
  const same = fromUrl === toUrl || directoryOf(fromUrl) === (directoryOf(toUrl) ?? fromUrl);
  if (same) throw new Failure(EXIT.refused, `both are the same log. ${HINTS.same}`);
  // Before anything is copied: what cannot be finished is not begun.
  const vaultKey = hasKeys(fromUrl) ? vaultKeyOf([fromUrl, toUrl].map(directoryOf)) : undefined;
  await using opened = new AsyncDisposableStack();
  const { log: from, keys: fromKeys } = await openSource(fromUrl, opened);
  const { log: to, keys: toKeys } = await openTarget(toUrl, opened);
  const [mine, theirs] = vaultKey
    ? [await fromKeys(vaultKey), await toKeys(vaultKey)]
    : [undefined, undefined];
  const { position } = await from.head();
  // The embedded log numbers its events; positions of EventStoreDB are bytes.
  const shown = phases(position, directoryOf(fromUrl) === undefined ? 'bytes' : 'events');
  const everything = async () => {
    const result = await copyLog(from, to, { onProgress: shown.update });
    if (!result.ok || !mine || !theirs) return { result, keys: NO_KEYS };
    const keys = await copyKeys(to, { from: mine, to: theirs });
    return { result, keys };
  };
  const { result, keys } = await everything()
    .catch((error: unknown) => {
      throw failureOf(error);
    })
    .finally(() => shown.stop());
  const what = { from: redactUrl(fromUrl), to: redactUrl(toUrl) };
  if (!result.ok) {
    const { fault, detail } = result;
    const exit = fault === 'differs' ? EXIT.differs : EXIT.refused;
    const text = `${what.to} is not a copy of ${what.from}: ${detail}. ${HINTS[fault]}`;
    throw new Failure(exit, text, { ...what, fault, detail });
  }
  const { events, present, isBehind } = result;
  if (keys.differing.length > 0)
    throw new Failure(
      EXIT.differs,
      `every event was copied, but ${plural(keys.differing.length, 'subject')} had another key in ` +
        `${what.to} already: ${keys.differing.slice(0, 3).join(', ')}.`,
      { ...what, fault: 'keys', subjects: keys.differing },
    );
  const more = isBehind
    ? ' The source has gone on meanwhile: stop its service, and run this again.'
    : '';
  finish(
    options,
    {
      ...what,
      events,
      copied: events - present,
      present,
      verified: true,
      behind: isBehind,
      keys: keys.subjects,
      erased: keys.destroyed,
    },
    `${plural(events, 'event')} in ${what.to}, each compared with ${what.from}; ` +
      `${plural(events - present, 'event')} copied now, with the keys of ` +
      `${plural(keys.subjects, 'subject')}.${more}`,
  );
};

export const logCopyCommand = (log: Command): void => {
  log
    .command('copy <from> <to>')
    .description('make one log the same as another, event by event')
    .option('--json', 'one JSON object as the last line on stdout')
    .addHelpText(
      'after',
      '\nA log is sqlite:DIRECTORY (a data directory; the first may be in use) or esdb://HOST.\n' +
        'The keys of personal data come along; both logs need the same ROOT_KEY.',
    )
    .action(copy);
};
