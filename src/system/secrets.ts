/** The root secret of an installation, and the keys derived from it. */
import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  sign,
  verify,
} from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartupError } from '#src/ports/startup-error.ts';
import type { Secrets } from '#src/ports/system.ts';
import { prepareDirectory } from './directory.ts';

const ROOT_BYTES = 32;

export type SystemSecrets = Secrets & {
  /** Key that wraps the keys of personal data. */
  readonly vaultKey: Buffer;
  /** Of the key that signs checkpoints where no other one is set. */
  readonly notarySeed: Buffer;
};

/**
 * Derives one key for each purpose (HKDF) from a root secret of 32 bytes, so that a value of one purpose
 * is worthless for another. The root is given, or stored in `directory`, readable only by this user.
 * Without it every credential, review link and piece of personal data is lost, so a new one is created
 * only where nothing depends on another. Throws StartupError when the stored root is missing, invalid,
 * or different from the given one.
 */
export const systemSecrets = (source: {
  directory?: string;
  root?: Buffer;
  mailboxGeneration?: number;
}): SystemSecrets => {
  const { directory, root: given, mailboxGeneration = 1 } = source;
  const stored = directory === undefined ? undefined : requireRoot(directory, given);
  const root = given ?? stored ?? createRoot(directory ?? '');
  const derive = (purpose: string, generation = 1): Buffer =>
    Buffer.from(hkdfSync('sha256', root, '', `tributary:${purpose}:${generation}`, 32));
  // Key objects: with raw bytes Node creates one for each HMAC, at ten times the cost.
  const keys = new Map<string, KeyObject>();
  return {
    pepperVersion: 1,
    mailboxGeneration,
    vaultKey: derive('vault'),
    notarySeed: derive('notary'),
    signing: signingKey(derive('signing')),
    attribution: signingKey(derive('attribution')),
    mac(purpose, value, generation = 1) {
      const name = `${purpose}:${generation}`;
      const key = keys.get(name) ?? createSecretKey(derive(purpose, generation));
      keys.set(name, key);
      return createHmac('sha256', key).update(value).digest('hex');
    },
  };
};

/** DER prefix of an Ed25519 private key (RFC 8410), before the seed. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Derived from the root, so that every process of a service signs with the same key. */
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

const readRoot = (directory: string): Buffer | undefined => {
  const file = fileIn(directory);
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

/** Creates the root and flushes it to disk before anything uses it. */
const createRoot = (directory: string): Buffer => {
  const root = randomBytes(ROOT_BYTES);
  prepareDirectory(directory);
  const file = fileIn(directory);
  try {
    writeFileSync(file, `${root.toString('base64')}\n`, { mode: 0o600, flag: 'wx', flush: true });
  } catch (error) {
    // Another first start created it meanwhile; the lock decides which of the two continues.
    const other = (error as NodeJS.ErrnoException).code === 'EEXIST' && readRoot(directory);
    if (other) return other;
    throw new StartupError(
      `${file} cannot be created: ${(error as Error).message}. The data directory must be writable.`,
      { cause: error },
    );
  }
  return root;
};

/**
 * Returns the stored root; creates none. Throws StartupError if the data in the directory needs a different root from the
 * given or the stored one.
 */
export const requireRoot = (directory: string, given?: Buffer): Buffer | undefined => {
  const stored = readRoot(directory);
  if (given && stored && !stored.equals(given))
    throw new StartupError(
      `ROOT_KEY differs from ${fileIn(directory)}, which the data there requires. ` +
        'Set ROOT_KEY to the content of that file, or choose another data directory.',
    );
  if (!given && !stored) requireNothingSealed(directory);
  return stored;
};
