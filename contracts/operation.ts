import type { z } from 'zod';
import type { ProblemCode } from './problems.ts';
import type { Role, Scope } from './scopes.ts';

export type HttpMethod = 'GET' | 'POST';

type Example = { name: string; input: Record<string, unknown>; output: unknown };

type Shape<Input extends z.ZodObject, Output extends z.ZodType> = {
  /** camelCase; the MCP tool is its snake_case. Never renamed. */
  id: string;
  kind: 'query' | 'command';
  http: { method: HttpMethod; path: string; status: 200 | 201 };
  /** One line: what it does. */
  summary: string;
  /** What an agent should know before and after the call. */
  guidance: string;
  /** Flat and strict. Where a field travels is derived (places.ts). */
  input: Input;
  output: Output;
  /** Besides the universal ones. The road refuses to answer a code that is not declared. */
  problems: readonly ProblemCode[];
  examples: readonly Example[];
  /** Representations other than JSON that a query can answer in. */
  alsoAs?: readonly string[];
};

/** One thing an agent can do. scope null: any valid key. */
export type Operation<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodType = z.ZodType,
> = Shape<Input, Output> & { scope: Scope | null };

/** One thing a person can do at the desk: the same shape, behind other credentials. */
export type DeskOperation<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodType = z.ZodType,
> = Shape<Input, Output> & { roles: readonly Role[] };

export const defineOperation = <
  const Id extends string,
  Input extends z.ZodObject,
  Output extends z.ZodType,
>(
  operation: Operation<Input, Output> & { id: Id },
) => operation;

export const defineDeskOperation = <
  const Id extends string,
  Input extends z.ZodObject,
  Output extends z.ZodType,
>(
  operation: DeskOperation<Input, Output> & { id: Id },
) => operation;
