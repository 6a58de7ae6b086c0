/** Defines the operations of link holders: what the page behind a link shows, and what its forms do. */
import { z } from 'zod';
import type { EventType } from '#contracts/registries/events.ts';
import { defineHolderOperation } from './operation.ts';
import { type ProblemCode, WRITE_PROBLEMS } from './problems.ts';

const VIEW_PROBLEMS = ['resource_not_found'] as const satisfies readonly ProblemCode[];

/** What an act behind a mailed link may answer. */
export const LINK_PROBLEMS = [...WRITE_PROBLEMS, ...VIEW_PROBLEMS] as const;

/** Defines what the page behind a link shows. It changes nothing. */
export const holderView = <Fields extends z.ZodRawShape, Output extends z.ZodType>(
  fields: Fields,
  output: Output,
) =>
  defineHolderOperation({
    kind: 'query',
    input: z.strictObject(fields),
    output,
    problems: VIEW_PROBLEMS,
  });

/** Returns a function that defines acts: the fields of the input, what the page shows afterwards, and the events. */
export const holderActs =
  (problems: readonly ProblemCode[]) =>
  <Fields extends z.ZodRawShape, Output extends z.ZodType>(
    fields: Fields,
    output: Output,
    writes: readonly EventType[],
  ) =>
    defineHolderOperation({
      kind: 'command',
      input: z.strictObject(fields),
      output,
      problems,
      writes,
    });
