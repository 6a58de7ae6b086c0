import type { z } from 'zod';
import type { EventType } from './events/index.ts';
import type { ProblemCode } from './problems.ts';
import type { NeededScope, Role, Scope } from './scopes.ts';

export type HttpMethod = 'GET' | 'POST';

export type Example = {
  name: string;
  input: Record<string, unknown>;
  output: unknown;
  /** The operation whose first example is called before: the id that it answers goes in here. */
  after?: string;
};

type Shape<Input extends z.ZodObject, Output extends z.ZodType> = {
  /** camelCase; the MCP tool is its snake_case. Never renamed. */
  id: string;
  kind: 'query' | 'command';
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

type OverHttp = { http: { method: HttpMethod; path: string; status: 200 | 201 } };

/** One thing an agent can do over MCP and A2A. */
export type ToolOperation<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodType = z.ZodType,
> = Shape<Input, Output> & {
  scope: NeededScope;
  /** What to do after it, where the guidance does not say so. */
  next?: string;
  /** A call may take something away that no later one brings back. */
  destructive?: boolean;
  /** Its effect reaches beyond this service, if people approve it. */
  openWorld?: boolean;
  /**
   * Every event that a call may ever write; a query writes none. Held against each event before it is
   * appended, so that what is not listed cannot come of an agent's call.
   */
  writes?: readonly EventType[];
};

/** One thing an agent can do, over REST, too. scope null: any valid key. */
export type Operation<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodType = z.ZodType,
> = ToolOperation<Input, Output> & OverHttp & { scope: Scope | null };

/** One thing a person can do at the desk: the same shape, behind other credentials. */
export type DeskOperation<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodType = z.ZodType,
> = Shape<Input, Output> & OverHttp & { roles: readonly Role[] };

export const defineOperation = <
  const Id extends string,
  Input extends z.ZodObject,
  Output extends z.ZodType,
>(
  operation: Operation<Input, Output> & { id: Id },
) => operation;

export const defineToolOperation = <
  const Id extends string,
  Input extends z.ZodObject,
  Output extends z.ZodType,
>(
  operation: ToolOperation<Input, Output> & { id: Id },
) => operation;

export const defineDeskOperation = <
  const Id extends string,
  Input extends z.ZodObject,
  Output extends z.ZodType,
>(
  operation: DeskOperation<Input, Output> & { id: Id },
) => operation;
