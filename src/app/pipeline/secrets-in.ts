import type { InputFault } from '#contracts/problems.ts';
import { CREDENTIAL_PATTERN } from './authenticate.ts';
import { pointerOf } from './input-faults.ts';

/** Every text of an input that is shaped like a credential, by its place. */
export const secretsIn = (value: unknown, path: readonly PropertyKey[] = []): InputFault[] => {
  if (typeof value === 'string')
    return CREDENTIAL_PATTERN.test(value)
      ? [{ pointer: pointerOf(path), code: 'credential', detail: 'holds something like a key' }]
      : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => secretsIn(member, [...path, name]));
};
