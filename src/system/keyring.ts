/** The keyring: the secrets of a service, random for each purpose and generation, which its root key wraps. */
import { createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { crc32 } from 'node:zlib';
import { StartupError } from '#src/ports/startup-error.ts';
import { type KeyringStore, MAC_PURPOSES } from '#src/ports/system.ts';
import { decrypt, encrypt } from './crypto-seal.ts';

const KEY_BYTES = 32;

const KEY_NAMES = [...MAC_PURPOSES, 'vault', 'notary', 'signing', 'attribution'] as const;
export type KeyName = (typeof KEY_NAMES)[number];

/** Keys of 32 bytes, generation 1 first. */
export type Keyring = { readonly [name in KeyName]: readonly Buffer[] };

const derive = (root: Buffer, name: string): Buffer =>
  Buffer.from(hkdfSync('sha256', root, '', `tributary:${name}:1`, KEY_BYTES));

const randomKey = (): Buffer => randomBytes(KEY_BYTES);

/** Adds a key for each purpose that `known` does not have: a later version may need more, and an earlier one keeps them. */
const completed = (known: Partial<Keyring>): Keyring => {
  const keys = Object.fromEntries(KEY_NAMES.map((name) => [name, known[name] ?? [randomKey()]]));
  return { ...known, ...keys } as Keyring;
};

const withGeneration = (keyring: Keyring): Keyring =>
  Object.fromEntries(
    Object.entries(keyring).map(([name, keys]) => [name, [...keys, randomKey()]]),
  ) as unknown as Keyring;

export const freshKeyring = (): Keyring => completed({});

/** Tells a root key from others, and nothing else about it. */
const idOf = (root: Buffer): string => derive(root, 'root-id').toString('hex', 0, 8);

const wrappingOf = (root: Buffer): KeyObject => createSecretKey(derive(root, 'keyring'));

/** The form of the text that this code writes and reads. */
const VERSION = 1;

/** Which root key wraps a keyring, and which ones did before. */
type Head = { version: number; root: string; former: string[] };
type Wrapped = Head & { keys: string };

const boundOf = ({ version, root, former }: Head): string =>
  JSON.stringify({ version, root, former });

const toText = (keyring: Keyring): string =>
  JSON.stringify(keyring, (_, value: unknown) =>
    Array.isArray(value) ? value.map((key: Buffer) => key.toString('base64')) : value,
  );

const fromText = (text: string): Partial<Keyring> =>
  JSON.parse(text, (_, value: unknown) =>
    typeof value === 'string' ? Buffer.from(value, 'base64') : value,
  ) as Partial<Keyring>;

const lost = (): StartupError =>
  new StartupError(
    'This log lost its keyring, without which no credential works and no personal data can be read. Restore keys.db, or the ' +
      'database on the server, from a backup, with the root key of that time. Nothing was changed.',
  );

/** The text that is stored, after its checksum: damage must not look like another root key. */
export const wrapKeyring = (keyring: Keyring, root: Buffer, former: string[] = []): string => {
  const head = { version: VERSION, root: idOf(root), former };
  const keys = encrypt(wrappingOf(root), boundOf(head), Buffer.from(toText(keyring)));
  const body = JSON.stringify({ ...head, keys: keys.toString('base64') });
  return `${crc32(body)} ${body}`;
};

const damaged = (cause?: unknown): StartupError =>
  new StartupError(
    'The keyring, which has the secrets of this log, is damaged. Restore a backup of keys.db, or of the database on a ' +
      'server, with the root key of that time.',
    { cause },
  );

/** Throws StartupError. */
const parse = (text: string): Wrapped => {
  const [crc, body = ''] = text.split(/ (.*)/s);
  if (crc !== String(crc32(body))) throw damaged();
  const wrapped = JSON.parse(body) as Wrapped;
  if (wrapped.version > VERSION)
    throw new StartupError(
      `The keyring, which has the secrets of this log, has format ${wrapped.version}, and this version of the service reads ` +
        `format ${VERSION}. Start the version that wrote it, or a later one. Nothing was changed.`,
    );
  if (wrapped.version !== VERSION) throw damaged();
  return wrapped;
};

export const isWrappedBy = (text: string, root: Buffer): boolean => parse(text).root === idOf(root);

/** Throws StartupError unless this is the root key that wraps the keyring. */
const requireRootOf = ({ root: present, former }: Head, root: Buffer): void => {
  const id = idOf(root);
  if (id === present) return;
  throw new StartupError(
    former.includes(id)
      ? 'The root key was rotated, and this is a former one: set ROOT_KEY, or root.key in the data directory, to the ' +
          'new one, which "tributary root-key rotate" wrote.'
      : 'This ROOT_KEY, or root.key, is not the one that this log needs. All processes of a log need the same: use that ' +
          'of a running process, of the directory this one was copied from, or of the time of this backup.',
  );
};

type Opened = { known: Partial<Keyring>; former: string[] };

/** Throws StartupError. */
export const openKeyringText = (text: string | null, root: Buffer): Opened => {
  if (text === null) throw lost();
  const wrapped = parse(text);
  requireRootOf(wrapped, root);
  try {
    const keys = decrypt(wrappingOf(root), boundOf(wrapped), Buffer.from(wrapped.keys, 'base64'));
    return { known: fromText(keys.toString()), former: wrapped.former };
  } catch (error) {
    throw damaged(error);
  }
};

/** What a store has: nothing if the log is new. Throws StartupError. */
const openStored = (text: string | null | undefined, root: Buffer): Opened =>
  text === undefined ? { known: {}, former: [] } : openKeyringText(text, root);

/**
 * Opens the keyring, or makes one for a new log. Several processes that start at once use the same one. Throws
 * StartupError, also if a used log lost its keyring.
 */
export const openKeyring = async (store: KeyringStore, root: Buffer): Promise<Keyring> => {
  for (;;) {
    const text = await store.readKeyring();
    const { known, former } = openStored(text, root);
    const keyring = completed(known);
    if (KEY_NAMES.every((name) => known[name])) return keyring;
    const wrapped = wrapKeyring(keyring, root, former);
    if (await store.replaceKeyring(text ?? undefined, wrapped)) return keyring;
  }
};

export type Rotation = {
  root: Buffer;
  next: Buffer;
  /** Adds a generation of every key: others may know the present ones. */
  isCompromised?: boolean | undefined;
};

/**
 * Wraps the keyring with the root key `next`. Does nothing if that was done before: a rotation that was killed is repeated.
 * Throws StartupError.
 */
export const rotateRoot = async (
  store: KeyringStore,
  { root, next, isCompromised }: Rotation,
): Promise<void> => {
  const text = await store.readKeyring();
  if (text === undefined)
    throw new StartupError('This log has no keyring yet. Start the service once, which makes it.');
  if (text === null) throw lost();
  if (isWrappedBy(text, next)) return;
  const { known, former } = openKeyringText(text, root);
  if (former.includes(idOf(next)))
    throw new StartupError('The new root key is a former one of this log. Use another.');
  const present = completed(known);
  const keyring = isCompromised ? withGeneration(present) : present;
  if (!(await store.replaceKeyring(text, wrapKeyring(keyring, next, [...former, idOf(root)]))))
    throw new StartupError(
      'Another process changed the keyring meanwhile, and nothing was changed here. Run the command again.',
    );
};

/** Makes the keyring of a copy the one of its source. Both have the same root key. Throws StartupError. */
export const copyKeyring = async (
  { from, to }: { from: Pick<KeyringStore, 'readKeyring'>; to: KeyringStore },
  root: Buffer,
): Promise<Keyring> => {
  const { known } = openStored(await from.readKeyring(), root);
  if ((await to.readKeyring()) === undefined)
    await to.replaceKeyring(undefined, wrapKeyring(completed(known), root));
  const copied = openStored(await to.readKeyring(), root).known;
  if (
    Object.entries(known).every(([name, keys]) => isDeepStrictEqual(copied[name as KeyName], keys))
  )
    return completed(copied);
  throw new StartupError(
    'The target has other secrets than the source. Copy into an empty log, or a new data directory.',
  );
};
