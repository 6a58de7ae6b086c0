import type { HeaderObject, ReferenceObject } from 'openapi3-ts/oas31';
import { ANSWER_HEADERS, type AnswerHeader } from '#contracts/headers.ts';
import type { ProblemCode } from '#contracts/problems.ts';

/** The headers of a document, by component id. `gated`: whether its operations are those of agents. */
export type NamedHeaders = { headers: Map<string, HeaderObject>; gated: boolean };

type HeaderRefs = Record<string, ReferenceObject>;

const KEY_HEADERS = ['rateLimit', 'rateLimitPolicy', 'deprecation', 'sunset'] as const;

const headerRefs = (
  { headers, gated }: NamedHeaders,
  ids: readonly (AnswerHeader | false)[],
): HeaderRefs =>
  Object.fromEntries(
    [...ids, ...(gated ? KEY_HEADERS : [])]
      .filter((id) => id !== false)
      .map((id) => {
        const { name, type, description } = ANSWER_HEADERS[id];
        headers.set(id, { description, schema: { type } });
        return [name, { $ref: `#/components/headers/${id}` }];
      }),
  );

/** Returns the headers of a successful answer. */
export const successHeaders = (
  { kind, alsoAs }: { kind: 'query' | 'command'; alsoAs?: readonly string[] },
  named: NamedHeaders,
): HeaderRefs =>
  headerRefs(named, [
    'requestId',
    'consistencyToken',
    kind === 'command' && 'replayed',
    kind === 'command' && 'original',
    alsoAs !== undefined && 'asOf',
    alsoAs !== undefined && 'next',
  ]);

const STATUSES_TO_WAIT: ReadonlySet<number> = new Set([429, 503, 507]);

/** Returns the headers of the problems of one status. */
export const problemHeaderRefs = (
  status: number,
  codes: readonly ProblemCode[],
  named: NamedHeaders,
): HeaderRefs =>
  headerRefs(named, [
    'requestId',
    'help',
    (status === 401 || codes.includes('scope_missing')) && 'challenge',
    STATUSES_TO_WAIT.has(status) && 'retryAfter',
  ]);
