/** Personal data is sealed per subject before it is stored, and opened before a record is rendered. */
import type { KeyVault, Unsealed } from '#src/ports/system.ts';

export const ERASED = '[erased]';

/** Returns a sealed text as the vault opened it beforehand, so that rendering awaits nothing. */
export type Opened = (sealed: string) => Unsealed;

/** The text shown in place of one that cannot be: `null` was erased, `undefined` lacks its key. */
export const placeholderOf = (opened: null | undefined) =>
  opened === null ? ERASED : '[unreadable]';

export const shownText = (opened: Unsealed): string => opened ?? placeholderOf(opened);

/** For a record of which nothing personal is shown. */
export const UNOPENED: Opened = () => null;

/** Opens all these texts in one call of the vault. An empty text is what an erasure leaves in a state. */
export const openTexts = async (vault: KeyVault, sealed: readonly string[]): Promise<Opened> => {
  const asked = sealed.filter((text) => text !== '');
  if (asked.length === 0) return UNOPENED;
  const plain = await vault.unseal(asked);
  const known = new Map(asked.map((text, index) => [text, plain[index]]));
  return (text) => (text === '' ? null : known.get(text));
};

/** Seals each text that is given for one subject; null when that subject is erased. */
export const sealAll = async <Name extends string>(
  vault: KeyVault,
  subject: string,
  texts: Record<Name, string | undefined>,
): Promise<Partial<Record<Name, string>> | null> => {
  const said = Object.entries<string | undefined>(texts).flatMap(([name, text]) =>
    text === undefined ? [] : [{ name, text }],
  );
  const sealed = await Promise.all(said.map(({ text }) => vault.seal(subject, text)));
  if (sealed.includes(null)) return null;
  const named = said.map(({ name }, index) => [name, sealed[index]]);
  return Object.fromEntries(named) as Partial<Record<Name, string>>;
};

/** Opens one sealed text; null also when it was erased. */
export const openOne = async (vault: KeyVault, sealed: string): Promise<Unsealed> =>
  (await openTexts(vault, [sealed]))(sealed);
