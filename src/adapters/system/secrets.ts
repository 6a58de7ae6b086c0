import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  hkdfSync,
  randomBytes,
  sign,
} from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartupError } from '#src/ports/startup-error.ts';
import type { Secrets } from '#src/ports/system.ts';
import { prepareDirectory } from './directory.ts';

const ROOT_BYTES = 32;
const PURPOSES = [
  'api-key',
  'desk-token',
  'root-token',
  'cursor',
  'handoff-token',
  'visitor',
  'claim',
  'webhook',
  'task-context',
] as const;

export type SystemSecrets = Secrets & {
  /** Wraps the keys of personal data. */
  readonly vaultKey: Buffer;
};

/**
 * One root secret, one derived key per purpose (HKDF), so that a value of one purpose means nothing
 * in another. The root (32 bytes) is given, or kept beside the data, readable by us alone; who loses
 * it loses every credential, review link and piece of personal data. One is made only where nothing
 * needs another. Throws StartupError when the one beside the data is gone, is not to be read, or is
 * another than the one that is given.
 */
export const systemSecrets = (source: { directory?: string; root?: Buffer }): SystemSecrets => {
  const { directory, root: given } = source;
  const root = given ?? rootIn(directory ?? '');
  if (given && directory !== undefined) requireSameRoot(given, directory);
  const derive = (purpose: string): Buffer =>
    Buffer.from(hkdfSync('sha256', root, '', `tributary:${purpose}:1`, 32));
  // As key objects: from raw bytes Node makes one anew for each HMAC, at ten times the cost.
  const keys = new Map(PURPOSES.map((purpose) => [purpose, createSecretKey(derive(purpose))]));
  return {
    pepperVersion: 1,
    vaultKey: derive('vault'),
    signing: signingKey(derive('signing')),
    mac(purpose, value) {
      const key = keys.get(purpose);
      if (!key) throw new Error(`no key for ${purpose}`);
      return createHmac('sha256', key).update(value).digest('hex');
    },
  };
};

/** DER of an Ed25519 private key (RFC 8410), up to the seed. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Derived, so that every node of a service signs with the same key, and no key file is kept. */
const signingKey = (seed: Buffer): Secrets['signing'] => {
  const key = createPrivateKey({
    key: Buffer.concat([PKCS8_HEAD, seed]),
    format: 'der',
    type: 'pkcs8',
  });
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
  const thumbprint = JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x });
  return {
    kid: createHash('sha256').update(thumbprint).digest('base64url'),
    publicKey: x,
    sign: (bytes) => sign(null, bytes, key).toString('base64url'),
  };
};

const fileIn = (directory: string): string => join(directory, 'root.key');

/** Whether a root lies there, so that none would be made. */
export const hasRoot = (directory: string): boolean => existsSync(fileIn(directory));

const keptIn = (directory: string): Buffer | undefined => {
  const file = fileIn(directory);
  if (!existsSync(file)) return undefined;
  const root = Buffer.from(readFileSync(file, 'utf8').trim(), 'base64');
  if (root.length !== ROOT_BYTES)
    throw new StartupError(`${file} does not hold 32 bytes in base64`);
  return root;
};

/** What lies there was sealed and issued with the key that lies there, and opens with no other. */
const requireSameRoot = (root: Buffer, directory: string): void => {
  const kept = keptIn(directory);
  if (kept && !kept.equals(root))
    throw new StartupError(
      `ROOT_KEY is another than ${fileIn(directory)} holds, which the data there needs. ` +
        'Set ROOT_KEY to what that file holds, or name another data directory.',
    );
};

/** What only the root that it was made with opens. */
const SEALED_FILES = ['log.db', 'log.mark', 'keys.db'];

const requireNothingSealed = (directory: string): void => {
  const found = SEALED_FILES.filter((name) => existsSync(join(directory, name)));
  if (found.length === 0) return;
  throw new StartupError(
    `${fileIn(directory)} is gone, and with another one no credential, review link or personal ` +
      `data of ${found.join(', ')} beside it works any more. Restore root.key from its backup, or ` +
      'set ROOT_KEY to what it held. Nothing was written.',
  );
};

/** On the disk before anything is made with it. */
const makeRoot = (directory: string): Buffer => {
  const root = randomBytes(ROOT_BYTES);
  prepareDirectory(directory);
  const file = fileIn(directory);
  try {
    writeFileSync(file, `${root.toString('base64')}\n`, { mode: 0o600, flag: 'wx', flush: true });
  } catch (error) {
    // Another first start was quicker; which of the two goes on, the lock decides.
    const others = (error as NodeJS.ErrnoException).code === 'EEXIST' && keptIn(directory);
    if (others) return others;
    throw new StartupError(
      `${file} cannot be made: ${(error as Error).message}. The data directory must be writable.`,
      { cause: error },
    );
  }
  return root;
};

const rootIn = (directory: string): Buffer => {
  const kept = keptIn(directory);
  if (kept) return kept;
  requireNothingSealed(directory);
  return makeRoot(directory);
};
