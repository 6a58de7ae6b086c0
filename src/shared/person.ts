import { replaceConfusables } from './confusables.ts';

/** A person as a credential or a decision names it. */
export type Person = {
  /** Absent in decisions of earlier versions. */
  name?: string | undefined;
  /** Absent in tokens of earlier versions. */
  person_id?: string | undefined;
};

/** Prefix of an id that was made from a name. An id that an operator chose has no colon. */
const FROM_NAME = 'name:';

/** Keeps letters, digits, the marks on them and single spaces; removes punctuation and invisible characters. */
const essence = (text: string): string =>
  text
    .normalize('NFKC')
    .replaceAll(/\s+/gu, ' ')
    .replaceAll(/[^\p{L}\p{N}\p{M} ]|\p{Default_Ignorable_Code_Point}/gu, '')
    .replaceAll(/ +/g, ' ')
    .trim();

/** Converts to upper case first, because that also makes one text of ß and ss, and of σ and ς. */
const foldCase = (text: string): string => text.toUpperCase().toLowerCase().normalize('NFKC');

/** The name as it looks. `|` looks like a letter, so punctuation is removed last. */
const skeletonOf = (name: string): string =>
  foldCase(essence(replaceConfusables(name.normalize('NFKC'))));

/** Letters look alike in one case only: B and Cyrillic В, but not b and в. */
const CASES: readonly ((name: string) => string)[] = [
  (name) => name,
  (name) => name.toUpperCase(),
  (name) => foldCase(name),
];

/**
 * Returns whether two names can be those of one person. Ignores case, width, white space, punctuation and invisible
 * characters; letters that look alike, as written or in either case, are equal.
 */
export const isOneName = (one: string, other: string): boolean =>
  CASES.some((inCase) => skeletonOf(inCase(one)) === skeletonOf(inCase(other)));

/** Makes the person id of a name; undefined for a name without letters and digits. */
export const personIdOfName = (name: string): string | undefined => {
  const skeleton = skeletonOf(name);
  return skeleton === '' ? undefined : `${FROM_NAME}${skeleton}`;
};

const hasChosenId = ({ person_id }: Person): boolean =>
  person_id !== undefined && !person_id.startsWith(FROM_NAME);

/** Returns whether two credentials can belong to one person: by the ids if both were chosen, otherwise by the names. */
export const isOnePerson = (one: Person, other: Person): boolean =>
  hasChosenId(one) && hasChosenId(other)
    ? one.person_id === other.person_id
    : one.name !== undefined && other.name !== undefined && isOneName(one.name, other.name);
