import type { z } from 'zod';
import type { EventType } from './events/index.ts';
import type { ProblemCode } from './problems.ts';
import type { NeededScope, DeskRole, Scope } from './scopes.ts';

export type HttpMethod = 'GET' | 'POST';

export type Example = {
  name: string;
  input: Record<string, unknown>;
  output: unknown;
  /** The operation whose first example is called before: the id that it answers goes in here. */
  after?: string;
};

/**
 * Who may call an operation. `agent`: software with an API key. `desk`: a person with a desk token, in one
 * of the operation's roles. `buyer`: the holder of a review link. `visitor`: anybody. `system`: the service
 * itself, on no call.
 */
export type Actor = 'agent' | 'desk' | 'buyer' | 'visitor' | 'system';

/**
 * What makes a repeated call harmless. `key`: an idempotency key, whose first answer is replayed. `state`: the
 * state of the record, which a repetition leaves as it is. `none`: the call changes nothing.
 */
export type Idempotency = 'key' | 'state' | 'none';

/** What every operation of every registry declares, and the pipeline reads. */
export type Declared<Input extends z.ZodType = z.ZodType, Output extends z.ZodType = z.ZodType> = {
  id: string;
  kind: 'query' | 'command';
  actors: readonly Actor[];
  idempotency: Idempotency;
  input: Input;
  output: Output;
  /** Besides the universal ones. The pipeline throws on a code that is not declared. */
  problems: readonly ProblemCode[];
  /** Every event type that a call may append; held against each event before it is appended. */
  writes?: readonly EventType[];
};

type Derived = 'actors' | 'idempotency';

type Shape<Input extends z.ZodObject, Output extends z.ZodType> = Declared<Input, Output> & {
  /** camelCase; the MCP tool is its snake_case. Never renamed. */
  id: string;
  /** One line: what it does. */
  summary: string;
  /** What an agent should know before and after the call. */
  guidance: string;
  /** Flat and strict. Where a field travels is derived (places.ts). */
  input: Input;
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
> = Shape<Input, Output> &
  OverHttp & {
    roles: readonly DeskRole[];
    /** Its answer holds personal data, so each read is audited. */
    readsPersonalData?: boolean;
  };

const declared = <Actors extends readonly Actor[]>(actors: Actors, kind: 'query' | 'command') =>
  ({ actors, idempotency: kind === 'command' ? 'key' : 'none' }) as const;

export const defineOperation = <
  const Id extends string,
  Input extends z.ZodObject,
  Output extends z.ZodType,
>(
  operation: Omit<Operation<Input, Output>, Derived> & { id: Id },
) => ({ ...operation, ...declared(['agent'], operation.kind) });

export const defineToolOperation = <
  const Id extends string,
  Input extends z.ZodObject,
  Output extends z.ZodType,
>(
  operation: Omit<ToolOperation<Input, Output>, Derived> & { id: Id },
) => ({ ...operation, ...declared(['agent'], operation.kind) });

export const defineDeskOperation = <
  const Id extends string,
  Input extends z.ZodObject,
  Output extends z.ZodType,
>(
  operation: Omit<DeskOperation<Input, Output>, Derived> & { id: Id },
) => ({ ...operation, ...declared(['desk'], operation.kind) });

/** Defines an operation behind a review link: repeating it leaves the list in the same state. */
export const defineBuyerOperation = <
  const Id extends string,
  Input extends z.ZodType,
  Output extends z.ZodType,
>(
  operation: Omit<Declared<Input, Output>, Derived> & { id: Id },
) => ({
  ...operation,
  actors: ['buyer'] as const,
  idempotency: operation.kind === 'command' ? ('state' as const) : ('none' as const),
});

/** Defines an operation that anybody may call; the only thing it ever appends is that somebody called. */
export const defineVisitorOperation = <
  const Id extends string,
  Input extends z.ZodType,
  Output extends z.ZodType,
>(
  operation: Omit<Declared<Input, Output>, Derived | 'kind'> & { id: Id },
) => ({
  ...operation,
  kind: 'query' as const,
  actors: ['visitor'] as const,
  idempotency: 'none' as const,
});

/** One thing that an agent can do to its tasks over A2A. */
export type TaskOperation<
  Input extends z.ZodType = z.ZodType,
  Output extends z.ZodType = z.ZodType,
> = Declared<Input, Output> & { scope: NeededScope };

export const defineTaskOperation = <
  const Id extends string,
  Input extends z.ZodType,
  Output extends z.ZodType,
>(
  operation: Omit<TaskOperation<Input, Output>, 'actors'> & { id: Id },
) => ({ ...operation, actors: ['agent'] as const });
