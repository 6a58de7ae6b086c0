import type { z } from 'zod';
import { LIMITS } from '#contracts/limits.ts';
import type { Declared } from '#contracts/operation.ts';
import type { InputFault } from '#contracts/problems.ts';
import { CREDENTIAL_PATTERN } from './authenticate.ts';
import { pointerOf, readInput } from './input-faults.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';

/** Finds every text of an input that is shaped like a credential. */
const secretsIn = (value: unknown, path: readonly PropertyKey[] = []): InputFault[] => {
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

export type Parsable<Input extends object> = Pick<Declared, 'kind'> & { input: z.ZodType<Input> };

export type Parsed<Input> = { input: Input } | { refusal: Refusal };

/**
 * Validates an input against the operation's schema: every fault with its pointer. A command of an agent
 * or at the desk needs its idempotency key, and no field of it may hold a credential.
 */
export const parseInput = <Input extends object>(
  operation: Parsable<Input>,
  raw: Record<string, unknown>,
): Parsed<Input> => {
  const read = parseFields(operation, raw);
  if (operation.kind === 'query') return read;
  const { errors = [] } = 'refusal' in read ? read.refusal : {};
  const others = errors.filter(({ pointer }) => pointer !== '/idempotency_key');
  const refusal = refuseKey(raw['idempotency_key'], others.length < errors.length);
  // Also names the faults of the other fields.
  if (refusal) return { refusal: { ...refusal, ...(others.length > 0 && { errors: others }) } };
  if ('refusal' in read) return read;
  return CREDENTIAL_PATTERN.test(JSON.stringify(read.input))
    ? {
        refusal: refuse('secret_in_payload', 'A field holds something shaped like a key.', {
          errors: secretsIn(read.input),
        }),
      }
    : read;
};

/** Validates the fields alone, for operations that no key makes idempotent. */
export const parseFields = <Input extends object>(
  operation: Parsable<Input>,
  raw: Record<string, unknown>,
): Parsed<Input> => {
  const read = readInput(operation.input, raw);
  if (!('faults' in read)) return { input: read.value };
  const errors = read.faults;
  const isQuery = operation.kind === 'query';
  const count = new Set(errors.map(({ pointer }) => pointer)).size;
  const what = isQuery ? 'parameter' : 'field';
  const detail = `${count} ${what}${count === 1 ? ' is' : 's are'} not valid.`;
  return {
    refusal: refuse(isQuery ? 'parameter_invalid' : 'validation_failed', detail, { errors }),
  };
};

const refuseKey = (key: unknown, isInvalid: boolean): Refusal | undefined => {
  if (key === undefined)
    return refuse('idempotency_key_required', 'This write needs an idempotency key.');
  return isInvalid
    ? refuse(
        'idempotency_key_invalid',
        `Send one key of 1 to ${LIMITS.IDEMPOTENCY_KEY_CHARS_MAX} of A-Z a-z 0-9 . _ : ~ + / = -.`,
      )
    : undefined;
};
