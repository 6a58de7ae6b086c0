/**
 * What every key vault does with keys: it seals texts of a subject with the subject's key, and wraps
 * that key for storage. Keys are KeyObjects: from raw bytes, Node creates one for each use, which
 * costs more than the use.
 */
import {
  randomFillSync,
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  type KeyObject,
} from 'node:crypto';
import { LogUnavailable } from '#src/ports/event-log.ts';
import { SEALED_PREFIX } from '#src/ports/sealed-text.ts';
import type { Unsealed } from '#src/ports/system.ts';

// Random bytes cost 2 to 3 µs per call and almost nothing per byte, so 8 KiB are drawn at a time.
const POOL_BYTES = 8_192;
export const randomPool = Buffer.alloc(POOL_BYTES);
let used = POOL_BYTES;

/** Returns unused bytes of the pool itself. The caller overwrites those that are secret. */
export const randomView = (count: number): Buffer => {
  if (used + count > POOL_BYTES) {
    randomFillSync(randomPool);
    used = 0;
  }
  used += count;
  return randomPool.subarray(used - count, used);
};

const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/** AES-256-GCM with `bound` as associated data: decryption succeeds only for the same `bound`. */
export const encrypt = (key: KeyObject, bound: string, plain: Buffer): Buffer => {
  const iv = randomView(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(bound));
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]);
};

/** Throws if `sealed` was changed, or was encrypted with another key or another `bound`. */
export const decrypt = (key: KeyObject, bound: string, sealed: Buffer): Buffer => {
  const iv = sealed.subarray(0, IV_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, iv)
    .setAAD(Buffer.from(bound))
    .setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
};

export const freshKey = (): KeyObject => {
  const bytes = randomView(KEY_BYTES);
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return key;
};

/** The keys that wrap subjects' keys, generation 1 first. */
export type Wrapping = readonly KeyObject[];

/** Encrypts a subject's key for storage, under the newest generation, which is the first byte. */
export const wrapKey = (wrapping: Wrapping, subject: string, key: KeyObject): Buffer => {
  const newest = wrapping.at(-1);
  if (!newest) throw new TypeError('there is no wrapping key');
  return Buffer.concat([Buffer.of(wrapping.length), encrypt(newest, subject, key.export())]);
};

export const generationOf = (wrapped: Uint8Array): number => wrapped[0] ?? 0;

/** A stored key is not what was written. A write that needs it is refused. */
export class KeyDamaged extends LogUnavailable {
  constructor(subject: string) {
    super('fault', 'no', `the key of ${subject} is damaged: restore the key vault from a backup`);
  }
}

/** Throws KeyDamaged if `wrapped` was changed, or belongs to another subject or another wrapping key. */
export const unwrapKey = (wrapping: Wrapping, subject: string, wrapped: Buffer): KeyObject => {
  try {
    const key = wrapping[generationOf(wrapped) - 1] as KeyObject;
    return createSecretKey(decrypt(key, subject, wrapped.subarray(1)));
  } catch {
    throw new KeyDamaged(subject);
  }
};

export const sealText = (key: KeyObject, subject: string, text: string): string =>
  `${SEALED_PREFIX}.${subject}.${encrypt(key, subject, Buffer.from(text)).toString('base64url')}`;

/** A text that was changed, or was sealed with another key, lacks its key. */
export const openText = (key: KeyObject, subject: string, sealed: string): Unsealed => {
  const body = sealed.slice(SEALED_PREFIX.length + subject.length + 2);
  try {
    return decrypt(key, subject, Buffer.from(body, 'base64url')).toString();
  } catch {
    return { key: 'missing' };
  }
};
