/** Personal data is sealed per subject before it is stored, and opened before a record is rendered. */
import type { KeyVault, LostKey, Unsealed } from '#src/ports/system.ts';

export const ERASED = '[erased]';
/** In place of a contact whose person refuses contact. */
export const WITHDRAWN = '[withdrawn]';

/** Returns a sealed text as the vault opened it beforehand, so that rendering awaits nothing. */
export type OpenedTexts = (sealed: string) => Unsealed;

/** What opening texts needs of the vault. */
export type OpeningVault = Pick<KeyVault, 'unseal'>;

const LOST = { missing: '[key missing]', damaged: '[key damaged]' } as const;
/** What a reader that opens nothing answers for every text; vaults make objects of their own. */
export const KEY_MISSING: LostKey = { key: 'missing' };

export const isLostText = (text: string): boolean => Object.values<string>(LOST).includes(text);

/** The text in place of one that cannot be opened. */
export const placeholderOf = (opened: null | LostKey) =>
  opened === null ? ERASED : LOST[opened.key];

/** Opens a sealed record; undefined if it was erased. */
export const openRecord = async <Value extends object>(vault: OpeningVault, sealed: string) => {
  const opened = await openOne(vault, sealed);
  if (typeof opened === 'string') return JSON.parse(opened) as Value;
  return opened === null ? undefined : LOST[opened.key];
};

export const shownText = (opened: Unsealed): string =>
  typeof opened === 'string' ? opened : placeholderOf(opened);

export const isLost = (opened: Unsealed | undefined): opened is LostKey =>
  typeof opened === 'object' && opened !== null;

/** Opens nothing: for records that are shown without their texts. */
export const NO_TEXTS: OpenedTexts = () => null;

/** Opens texts in one call of the vault. A state contains an empty text in place of an erased one. */
export const openTexts = async (
  vault: OpeningVault,
  sealed: readonly string[],
): Promise<OpenedTexts> => {
  const texts = sealed.filter((text) => text !== '');
  if (texts.length === 0) return NO_TEXTS;
  const plain = await vault.unseal(texts);
  const plainBySealed = new Map(texts.map((text, index) => [text, plain[index] ?? null]));
  return (text) => (text === '' ? null : (plainBySealed.get(text) ?? null));
};

/** Seals the texts that are set for one subject; resolves to null if the subject is erased. */
export const sealAll = async <Name extends string>(
  vault: KeyVault,
  subject: string,
  texts: Record<Name, string | undefined>,
): Promise<Partial<Record<Name, string>> | null> => {
  const given = Object.entries<string | undefined>(texts).flatMap(([name, text]) =>
    text === undefined ? [] : [{ name, text }],
  );
  const sealed = await Promise.all(given.map(({ text }) => vault.seal(subject, text)));
  if (sealed.includes(null)) return null;
  const named = given.map(({ name }, index) => [name, sealed[index]]);
  return Object.fromEntries(named) as Partial<Record<Name, string>>;
};

/** Opens one sealed text; null if it was erased. */
export const openOne = async (vault: OpeningVault, sealed: string): Promise<Unsealed> =>
  (await openTexts(vault, [sealed]))(sealed);
