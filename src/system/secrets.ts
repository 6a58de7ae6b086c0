/** The secrets of an installation, and its root key, which wraps them. */
import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  type KeyObject,
  randomBytes,
  sign,
  verify,
} from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartupError } from '#src/ports/startup-error.ts';
import type { Secrets } from '#src/ports/system.ts';
import { prepareDirectory, replaceFile } from './directory.ts';
import type { Keyring } from './keyring.ts';

const ROOT_BYTES = 32;

export type SystemSecrets = Secrets & {
  /** The keys that wrap the keys of personal data, generation 1 first. */
  readonly vaultKeys: readonly Buffer[];
  /** Of the key that signs checkpoints where no other one is set. */
  readonly notarySeed: Buffer;
};

/** Makes the secrets of a keyring usable, each for its own purpose, so that a value of one is worthless for another. */
export const secretsOf = (keyring: Keyring): SystemSecrets => {
  const keyOf = (name: keyof Keyring, generation = keyring[name].length): Buffer => {
    const key = keyring[name][generation - 1];
    if (!key) throw new TypeError(`there is no key ${generation} of ${name}`);
    return key;
  };
  // Key objects: with raw bytes Node creates one for each HMAC, at ten times the cost.
  const keys = new Map<string, KeyObject>();
  return {
    generations(purpose) {
      const newest = keyring[purpose].length;
      const earlier = Array.from({ length: newest - 1 }, (_, index) => newest - 1 - index);
      return [newest, ...earlier];
    },
    vaultKeys: keyring.vault,
    notarySeed: keyOf('notary'),
    signing: signingKey(keyOf('signing')),
    attribution: signingKey(keyOf('attribution')),
    mac(purpose, value, generation = keyring[purpose].length) {
      const name = `${purpose}:${generation}`;
      const key = keys.get(name) ?? createSecretKey(keyOf(purpose, generation));
      keys.set(name, key);
      return createHmac('sha256', key).update(value).digest('hex');
    },
  };
};

/** DER prefix of an Ed25519 private key (RFC 8410), before the seed. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');

const signingKey = (seed: Buffer): Secrets['attribution'] => {
  const key = createPrivateKey({
    key: Buffer.concat([PKCS8_HEAD, seed]),
    format: 'der',
    type: 'pkcs8',
  });
  const published = createPublicKey(key);
  const { x = '' } = published.export({ format: 'jwk' });
  const thumbprint = JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x });
  return {
    kid: createHash('sha256').update(thumbprint).digest('base64url'),
    publicKey: x,
    sign: (bytes) => sign(null, bytes, key).toString('base64url'),
    verify: (bytes, signature) =>
      verify(null, bytes, published, Buffer.from(signature, 'base64url')),
  };
};

const fileIn = (directory: string): string => join(directory, 'root.key');

export const hasRoot = (directory: string): boolean => existsSync(fileIn(directory));

/** Throws StartupError if the file exists and is no root key. */
export const readRoot = (file: string): Buffer | undefined => {
  if (!existsSync(file)) return undefined;
  const root = Buffer.from(readFileSync(file, 'utf8').trim(), 'base64');
  if (root.length !== ROOT_BYTES)
    throw new StartupError(`${file} does not contain 32 bytes in base64`);
  return root;
};

/** Files that can be opened only with the root they were created with. */
const SEALED_FILES = ['log.db', 'log.mark', 'keys.db'];

const requireNothingSealed = (directory: string): void => {
  const sealed = SEALED_FILES.filter((name) => existsSync(join(directory, name)));
  if (sealed.length === 0) return;
  throw new StartupError(
    `${fileIn(directory)} is missing. Without it no credential, review link or personal data of ` +
      `${sealed.join(', ')} beside it works. Restore root.key from its backup, or set ROOT_KEY to ` +
      'its content. Nothing was written.',
  );
};

/** Creates a root key in a file, and flushes it to disk before anything uses it. Throws StartupError. */
export const createRoot = (file: string): Buffer => {
  const root = randomBytes(ROOT_BYTES);
  try {
    writeFileSync(file, `${root.toString('base64')}\n`, { mode: 0o600, flag: 'wx', flush: true });
  } catch (error) {
    // Another first start created it meanwhile; the lock decides which of the two continues.
    const other = (error as NodeJS.ErrnoException).code === 'EEXIST' && readRoot(file);
    if (other) return other;
    throw new StartupError(
      `${file} cannot be created: ${(error as Error).message}. Its directory must be writable.`,
      { cause: error },
    );
  }
  return root;
};

/** Where a rotation keeps the new root key until root.key is replaced. */
export const stagedRootOf = (directory: string): string => `${fileIn(directory)}.new`;

export const replaceRoot = (directory: string, root: Buffer): void => {
  replaceFile(fileIn(directory), `${root.toString('base64')}\n`);
  rmSync(stagedRootOf(directory), { force: true });
};

/**
 * The root key: the given one, or the one that is stored in `directory`, readable only by this user. Without it every
 * credential, review link and piece of personal data is lost, so a new one is created only where nothing depends on
 * another. Throws StartupError when the stored one is missing, invalid, or different from the given one.
 */
export const rootKeyOf = ({
  directory,
  root: given,
}: {
  directory: string;
  root?: Buffer | undefined;
}): Buffer => {
  const stored = requireRoot(directory, given);
  if (given ?? stored) return (given ?? stored) as Buffer;
  prepareDirectory(directory);
  return createRoot(fileIn(directory));
};

/**
 * Returns the stored root; creates none. Throws StartupError if the data in the directory needs a different root from the
 * given or the stored one.
 */
export const requireRoot = (directory: string, given?: Buffer): Buffer | undefined => {
  const stored = readRoot(fileIn(directory));
  if (given && stored && !stored.equals(given))
    throw new StartupError(
      `ROOT_KEY differs from ${fileIn(directory)}, which the data there requires. ` +
        'Set ROOT_KEY to the content of that file, or choose another data directory.',
    );
  if (!given && !stored) requireNothingSealed(directory);
  return stored;
};
