/**
 * What every key vault does with a key: texts sealed for a subject, and keys wrapped for storing. Keys
 * are key objects: of raw bytes Node makes one anew for each use, which costs more than the use.
 */
import type { KeyObject } from 'node:crypto';
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto';

const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const PREFIX = 's1';

/** AES-256-GCM; `bound` is associated data, so that it opens for nothing else. */
const encrypt = (key: KeyObject, bound: string, plain: Buffer): Buffer => {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(bound));
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]);
};

/** Throws when `sealed` was changed, or made with another key or for something else. */
const decrypt = (key: KeyObject, bound: string, sealed: Buffer): Buffer => {
  const iv = sealed.subarray(0, IV_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, iv)
    .setAAD(Buffer.from(bound))
    .setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
};

export const freshKey = (): KeyObject => createSecretKey(randomBytes(KEY_BYTES));

/** A subject's key as it is stored. */
export const wrapKey = (wrapping: KeyObject, subject: string, key: KeyObject): Buffer =>
  encrypt(wrapping, subject, key.export());

/** Throws as `decrypt` does. */
export const unwrapKey = (wrapping: KeyObject, subject: string, wrapped: Buffer): KeyObject =>
  createSecretKey(decrypt(wrapping, subject, wrapped));

export const sealText = (key: KeyObject, subject: string, text: string): string =>
  `${PREFIX}.${subject}.${encrypt(key, subject, Buffer.from(text)).toString('base64url')}`;

/** Whose key opens it; undefined when it is no sealed text. */
export const subjectOf = (sealed: string): string | undefined => {
  const [prefix, subject] = sealed.split('.', 2);
  return prefix === PREFIX ? subject : undefined;
};

/** Of every sealed text in it, however deep: whose key opens it. */
export const subjectsIn = (data: unknown): string[] => {
  if (typeof data === 'string') {
    const subject = subjectOf(data);
    return subject === undefined ? [] : [subject];
  }
  if (typeof data !== 'object' || data === null) return [];
  return Object.values(data).flatMap(subjectsIn);
};

/** undefined when it was changed, or sealed with another key. */
export const openText = (key: KeyObject, subject: string, sealed: string): string | undefined => {
  const body = sealed.slice(PREFIX.length + subject.length + 2);
  try {
    return decrypt(key, subject, Buffer.from(body, 'base64url')).toString();
  } catch {
    return undefined;
  }
};
