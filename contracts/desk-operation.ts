/** How an operation of the desk is defined. */
import { z } from 'zod';
import { asOf, before, id, idempotencyKey, limit, line, nextBefore, ownerSpace } from './fields.ts';
import { defineDeskOperation, type DeskOperation, type Example } from './operation.ts';
import { type ProblemCode, WRITE_PROBLEMS } from './problems.ts';

/** The time and the log position of every example. */
export const EXAMPLE_AT = '2026-11-20T09:30:00.000Z';
export const EXAMPLE_AS_OF = { position: 3120, at: EXAMPLE_AT };

export const agentId = id('agt');
/** The reason of a decision on an agent or a credential. */
export const accessReason = line(500).describe('Shown to people who ask why');

/** What any query of the desk may answer. */
const QUERY_PROBLEMS = [
  'role_missing',
  'parameter_invalid',
  'resource_not_found',
] as const satisfies readonly ProblemCode[];

/** What any command of the desk may answer. */
const COMMAND_PROBLEMS = [
  ...WRITE_PROBLEMS,
  'role_missing',
  'resource_not_found',
  'state_conflict',
] as const satisfies readonly ProblemCode[];

/** The answer of a command that changes the state of a record. */
export const recordState = z.object({ id: z.string(), owner_id: z.string(), state: z.string() });

const OR = new Intl.ListFormat('en', { style: 'long', type: 'disjunction' });

/** A table of moves as text, without the states that no move leaves. */
export const movesText = (moves: Readonly<Record<string, readonly string[]>>): string =>
  Object.entries(moves)
    .flatMap(([from, to]) => (to.length > 0 ? [`${from} to ${OR.format(to)}`] : []))
    .join('; ');

type Definition<Fields, Output> = Pick<
  DeskOperation,
  'roles' | 'summary' | 'guidance' | 'destructive' | 'isSensitive' | 'isOnPage'
> & {
  path: string;
  /** The input, without the idempotency key of a command. */
  fields: Fields;
  output: Output;
  example: Example;
};

/** Defines a GET that changes nothing. Its default problems are those of any query. */
export const deskQuery = <Fields extends z.ZodRawShape, Output extends z.ZodType>({
  path,
  fields,
  example,
  ...operation
}: Definition<Fields, Output> & {
  problems?: readonly ProblemCode[];
  readsPersonalData?: boolean;
  auditsInput?: boolean;
}) =>
  defineDeskOperation({
    problems: QUERY_PROBLEMS,
    ...operation,
    kind: 'query',
    http: { method: 'GET', path, status: 200 },
    input: z.strictObject(fields),
    examples: [example],
  });

/** Defines a POST with an idempotency key. `problems` are added to those of any command. */
export const deskCommand = <Fields extends z.ZodRawShape, Output extends z.ZodType>({
  path,
  status = 200,
  fields,
  problems = [],
  example,
  ...operation
}: Definition<Fields, Output> & { status?: 200 | 201; problems?: readonly ProblemCode[] }) =>
  defineDeskOperation({
    ...operation,
    kind: 'command',
    http: { method: 'POST', path, status },
    input: z.strictObject({ idempotency_key: idempotencyKey, ...fields }),
    problems: [
      ...COMMAND_PROBLEMS,
      ...(operation.isSensitive ? (['fresh_sign_in_needed'] as const) : []),
      ...problems,
    ],
    examples: [example],
  });

/** Returns a function that defines the commands on one kind of record. Each adds what only it has. */
export const recordCommands =
  <Shared extends z.ZodRawShape, Output extends z.ZodType>(record: {
    path: string;
    roles: DeskOperation['roles'];
    fields: Shared;
    output: Output;
    problems?: readonly ProblemCode[];
    example: { input: object; output: object };
  }) =>
  <Fields extends z.ZodRawShape>({
    verb,
    fields,
    problems = [],
    name = verb,
    input,
    output,
    ...operation
  }: Pick<DeskOperation, 'summary' | 'guidance' | 'destructive' | 'isSensitive'> & {
    verb: string;
    roles?: DeskOperation['roles'];
    fields: Fields;
    problems?: readonly ProblemCode[];
    /** The name, the input and the output of the example. */
    name?: string;
    input?: object;
    output?: object;
  }) =>
    deskCommand({
      roles: record.roles,
      ...operation,
      path: `${record.path}/${verb}`,
      fields: { ...record.fields, ...fields },
      output: record.output,
      problems: [...(record.problems ?? []), ...problems],
      example: {
        name,
        input: { idempotency_key: 'case-4711', ...record.example.input, ...input },
        output: { ...record.example.output, ...output },
      },
    });

/** Defines a query of an owner's records, newest first, in pages. */
export const deskList = <Row extends z.ZodType>({
  row,
  example,
  owner = ownerSpace,
  ...operation
}: {
  path: string;
  summary: string;
  owner?: z.ZodString;
  row: Row;
  /** The only row of the example. */
  example: unknown;
}) =>
  deskQuery({
    ...operation,
    roles: ['owner', 'staff', 'auditor'],
    guidance: 'Read the next page with next_before until it is null.',
    fields: { owner_id: owner, before, limit },
    output: z.object({ data: z.array(row), next_before: nextBefore, as_of: asOf }),
    example: {
      name: 'of acme',
      input: { owner_id: 'acme' },
      output: { data: [example], next_before: null, as_of: EXAMPLE_AS_OF },
    },
  });
