/** How an operation is defined, for every protocol. */
import type { z } from 'zod';
import type { EventType } from '#contracts/registries/events.ts';
import type { ProblemCode } from './problems.ts';
import type { DeskRole, NeededScope, Scope } from './scopes.ts';

export type HttpMethod = 'GET' | 'POST';

export type Example = {
  name: string;
  input: Record<string, unknown>;
  output: unknown;
  /** The operation whose first example must be called before, because `input` has the id of its answer. */
  after?: string;
};

/**
 * Who may call an operation. `agent`: software with an API key. `desk`: a person with a desk token, in one
 * of the operation's roles. `holder`: who has a secret link, which is the credential. `visitor`: anybody.
 */
export type Actor = 'agent' | 'desk' | 'holder' | 'visitor';

/**
 * What makes a repeated call harmless. `key`: an idempotency key, whose first answer is replayed. `state`: the
 * state of the record, which a repetition does not change. `none`: the call changes nothing.
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
  /** Every event type that a call may append; any other type is refused before it is appended. */
  writes?: readonly EventType[];
};

/** What the documents show of an operation besides its schemas. */
type Documented = {
  /** One line: what it does. */
  summary: string;
  /** What a caller should know before and after the call. */
  guidance: string;
  examples: readonly Example[];
  /** Media types besides JSON that a query can answer in. */
  alsoAs?: readonly string[];
};

type OverHttp = { http: { method: HttpMethod; path: string; status: 200 | 201 } };

type AsTool = Documented & {
  scope: NeededScope;
  /** What the description of the tool says instead of the guidance, where that has more than a model needs. */
  brief?: string;
  /** What tools/list shows as the answer's schema, where the whole one is too long. */
  shows?: z.ZodType;
  /** How many calls of its budget a call counts as; 1 without it. */
  weighs?(input: Record<string, unknown>): number;
  /** What to do after the call, if the guidance does not say so. */
  next?: string;
  /** Whether a call can remove something that no later call restores. */
  destructive?: boolean;
  /** Whether its answers are recorded for owners who want that, so that they can be made again. */
  recordsAnswers?: boolean;
  /** Whether the effect reaches beyond this service, once people approve it. */
  openWorld?: boolean;
};

type AtDesk = Documented &
  OverHttp & {
    roles: readonly DeskRole[];
    /** Whether the answer has personal data, so that each read is audited. */
    readsPersonalData?: boolean;
    /** Whether each call is audited with its input. */
    auditsInput?: boolean;
    /** Whether a call ends something that no later call restores as it was, or stops many at once: clients ask first. */
    destructive?: boolean;
    /** Whether a person in a browser must have signed in within the last LIMITS.FRESH_SIGN_IN_MINUTES. */
    isSensitive?: boolean;
    /** Whether only a person who is signed in with a browser calls it, on a page: no token can, and there is no command. */
    isOnPage?: boolean;
  };

/** An operation of agents over MCP and A2A. */
export type ToolOperation<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodType = z.ZodType,
> = Declared<Input, Output> & AsTool;

/** An operation of agents over REST, MCP and A2A. scope null: any valid key. */
export type Operation<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodType = z.ZodType,
> = ToolOperation<Input, Output> & OverHttp & { scope: Scope | null };

/** An operation of people at the desk. */
export type DeskOperation<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodType = z.ZodType,
> = Declared<Input, Output> & AtDesk;

export type TaskOperation = Declared & { scope: NeededScope };

/**
 * Completes the definitions of a registry: the id of each is the name of its member. Ids are camelCase, and the MCP
 * tool is the id in snake_case. Never rename one: audit records and digests have them.
 */
export const registryOf = <const Operations extends Record<string, object>>(
  operations: Operations,
) => {
  const named = Object.entries(operations).map(([id, operation]) => [id, { ...operation, id }]);
  return Object.fromEntries(named) as { [Id in keyof Operations]: Operations[Id] & { id: Id } };
};

/** Returns a function that completes definitions for `actor`; `repeated` is the idempotency of commands. */
const definer =
  <Extra extends object, const By extends Actor>(actor: By, repeated: Idempotency) =>
  <Input extends z.ZodObject, Output extends z.ZodType>(
    operation: Omit<Declared<Input, Output>, 'id' | 'actors' | 'idempotency'> & Extra,
  ) => ({
    idempotency: operation.kind === 'command' ? repeated : 'none',
    ...operation,
    actors: [actor] as const,
  });

export const defineOperation = definer<AsTool & OverHttp & { scope: Scope | null }, 'agent'>(
  'agent',
  'key',
);
export const defineToolOperation = definer<AsTool, 'agent'>('agent', 'key');
export const defineDeskOperation = definer<AtDesk, 'desk'>('desk', 'key');
/** Idempotent by state: repeating an act of the holder of a link leaves its record in the same state. */
export const defineHolderOperation = definer<object, 'holder'>('holder', 'state');
/** Only for queries; the only event that they append records the visit itself. */
export const defineVisitorOperation = definer<{ kind: 'query' }, 'visitor'>('visitor', 'none');
/** The ids of these are those of the protocol. A definition may set an idempotency other than the key. */
export const defineTaskOperation = definer<
  { id: string; scope: NeededScope; idempotency?: Idempotency },
  'agent'
>('agent', 'key');
