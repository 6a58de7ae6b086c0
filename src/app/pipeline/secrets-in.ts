import type { InputFault } from '#contracts/problems.ts';
import { CREDENTIAL_PATTERN } from './authenticate.ts';
import { pointerOf } from './input-faults.ts';

/** Finds every text of an input that is shaped like a credential. */
export const secretsIn = (value: unknown, path: readonly PropertyKey[] = []): InputFault[] => {
  if (typeof value === 'string')
    return CREDENTIAL_PATTERN.test(value)
      ? [
          {
            pointer: pointerOf(path),
            code: 'credential',
            detail: 'contains something that looks like a credential',
          },
        ]
      : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => secretsIn(member, [...path, name]));
};
