/** The form of a sealed text, which names the subject whose key opens it: `s1.`, the subject, `.` and the text in base64url. */

export const SEALED_PREFIX = 's1';

const SEALED = /^s1\.([a-z0-9_]{1,64})\.[\w-]+$/;

/** Returns the subject whose key opens the text; undefined if it is not a sealed text. */
export const subjectOf = (sealed: string): string | undefined => SEALED.exec(sealed)?.[1];

/** Lists the subject of every sealed text in `data`, at any depth, with repetitions. */
export const subjectsIn = (data: unknown): string[] => {
  if (typeof data === 'string') {
    const subject = subjectOf(data);
    return subject === undefined ? [] : [subject];
  }
  if (typeof data !== 'object' || data === null) return [];
  return Object.values(data).flatMap(subjectsIn);
};
