import type { Declared } from '#contracts/operation.ts';
import { UNIVERSAL_PROBLEMS } from '#contracts/problems.ts';
import type { Outcome, Refusal } from '#src/shared/outcome.ts';

const universal: ReadonlySet<string> = new Set(UNIVERSAL_PROBLEMS);

/** Returns the outcome; throws on one outside the contract of the operation, unless its handler has checked it. */
export const requireContract = <Value>(
  operation: Declared,
  outcome: Outcome<Value>,
): Outcome<Value> => {
  if (!outcome.ok) return requireDeclared(operation, outcome);
  if (!outcome.isChecked) requireOutput(operation, outcome.value);
  return outcome;
};

/** Returns a refusal whose code the operation declares; throws on any other, which is a bug of the service. */
export const requireDeclared = ({ id, problems }: Declared, refusal: Refusal): Refusal => {
  if (problems.includes(refusal.code) || universal.has(refusal.code)) return refusal;
  throw new Error(`${id} answered ${refusal.code}, which it does not declare`);
};

/** Throws on an answer outside the schema of the operation, which is a bug of the service. */
export const requireOutput = (
  { id, output }: Pick<Declared, 'id' | 'output'>,
  value: unknown,
): void => {
  const result = output.safeParse(value);
  if (!result.success)
    throw new Error(`${id} made an answer outside its contract: ${result.error.message}`);
};
