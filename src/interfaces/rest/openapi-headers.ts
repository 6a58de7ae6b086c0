import type { HeaderObject, ReferenceObject } from 'openapi3-ts/oas31';
import { ANSWER_HEADERS, type AnswerHeader } from '#contracts/headers.ts';
import type { ProblemCode } from '#contracts/problems.ts';

/** Headers that a document names, once each, and whether its answers pass the agents' gate. */
export type NamedHeaders = { headers: Map<string, HeaderObject>; gated: boolean };

type Referred = Record<string, ReferenceObject>;

const OF_THE_KEY = ['rateLimit', 'rateLimitPolicy', 'deprecation', 'sunset'] as const;

const referred = (
  { headers, gated }: NamedHeaders,
  ids: readonly (AnswerHeader | false)[],
): Referred =>
  Object.fromEntries(
    [...ids, ...(gated ? OF_THE_KEY : [])]
      .filter((id) => id !== false)
      .map((id) => {
        const { name, type, description } = ANSWER_HEADERS[id];
        headers.set(id, { description, schema: { type } });
        return [name, { $ref: `#/components/headers/${id}` }];
      }),
  );

/** The headers of an operation's success. */
export const successHeaders = (
  { kind, alsoAs }: { kind: 'query' | 'command'; alsoAs?: readonly string[] },
  named: NamedHeaders,
): Referred =>
  referred(named, [
    'requestId',
    'consistencyToken',
    kind === 'command' && 'replayed',
    kind === 'command' && 'original',
    alsoAs !== undefined && 'asOf',
    alsoAs !== undefined && 'next',
  ]);

const WAITS: ReadonlySet<number> = new Set([429, 503, 507]);

/** The headers of problems that share a status. */
export const problemHeaders = (
  status: number,
  codes: readonly ProblemCode[],
  named: NamedHeaders,
): Referred =>
  referred(named, [
    'requestId',
    'help',
    (status === 401 || codes.includes('scope_missing')) && 'challenge',
    WAITS.has(status) && 'retryAfter',
  ]);
