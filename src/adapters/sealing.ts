/** What every key vault does with a key: texts sealed for a subject, and keys wrapped for storing. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const PREFIX = 's1';

/** AES-256-GCM; `bound` is associated data, so that it opens for nothing else. */
export const encrypt = (key: Buffer, bound: string, plain: Buffer): Buffer => {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(bound));
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]);
};

/** Throws when `sealed` was changed, or made with another key or for something else. */
export const decrypt = (key: Buffer, bound: string, sealed: Buffer): Buffer => {
  const iv = sealed.subarray(0, IV_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, iv)
    .setAAD(Buffer.from(bound))
    .setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
};

export const freshKey = (): Buffer => randomBytes(KEY_BYTES);

export const sealText = (key: Buffer, subject: string, text: string): string =>
  `${PREFIX}.${subject}.${encrypt(key, subject, Buffer.from(text)).toString('base64url')}`;

/** Whose key opens it; undefined when it is no sealed text. */
export const subjectOf = (sealed: string): string | undefined => {
  const [prefix, subject] = sealed.split('.', 2);
  return prefix === PREFIX ? subject : undefined;
};

/** Throws as `decrypt` does. */
export const openText = (key: Buffer, subject: string, sealed: string): string => {
  const body = sealed.slice(PREFIX.length + subject.length + 2);
  return decrypt(key, subject, Buffer.from(body, 'base64url')).toString();
};
