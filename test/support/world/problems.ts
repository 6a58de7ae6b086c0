import { expect } from 'vitest';
import { z } from 'zod';
import { PROBLEM_CODES, PROBLEMS } from '#contracts/problems.ts';

const shape = z.strictObject({
  type: z.url(),
  title: z.string().min(1),
  status: z.int().min(400).max(599),
  detail: z.string().min(1),
  instance: z.string().regex(/^urn:uuid:[0-9a-f-]{36}$/),
  code: z.enum(PROBLEM_CODES),
  request_id: z.uuid(),
  recovery: z.strictObject({
    action: z.string(),
    hint: z.string().min(10),
    retryable: z.boolean(),
    retry_after_s: z.int().min(0).optional(),
  }),
  links: z.strictObject({ portal: z.url(), openapi: z.url(), docs: z.url() }),
  errors: z
    .array(
      z.strictObject({
        pointer: z
          .string()
          .regex(/^(\/|$)/)
          .max(512),
        code: z.string().min(1),
        detail: z.string().min(1),
        value: z.string().max(600).optional(),
      }),
    )
    .max(1_000)
    .optional(),
  required_scope: z.string().optional(),
  granted_scopes: z.array(z.string()).optional(),
  first_request: z.object({ id: z.string(), at: z.string() }).optional(),
  outcome: z.enum(['none', 'unknown']).optional(),
});

export type Problem = z.infer<typeof shape>;

/** Text that reveals the implementation, or a credential. */
const LEAKS =
  /node_modules|SQLITE|sqlite|at .+\.ts:\d|\bFST_|\bHPE_|[Zz]od|trbd?_(live_|test_)?[0-9A-Za-z]{12}_/;

/** Expects a complete problem of the catalogue that is consistent with its headers. */
export const expectProblem = (
  answer: { status: number; text: string; headers: Record<string, unknown> },
  hint = '',
): Problem => {
  const seen = `${hint} ${answer.status} ${answer.text.slice(0, 300)}`;
  expect(answer.headers['content-type'], seen).toBe('application/problem+json');
  const parsed = shape.safeParse(JSON.parse(answer.text));
  expect(parsed.success, `${seen}\n${parsed.error?.message}`).toBe(true);
  const problem = parsed.data as Problem;
  expect(problem.status, seen).toBe(answer.status);
  expect(PROBLEMS[problem.code].status, seen).toBe(answer.status);
  expect(problem.type.endsWith(`/problems/${problem.code}`), seen).toBe(true);
  expect(answer.headers['request-id'], seen).toBe(problem.request_id);
  expect(answer.text, hint).not.toMatch(LEAKS);
  return problem;
};

/** Returns the names on the built-in prototypes, which a pollution would change. */
export const prototypeNames = (): string =>
  [Object.prototype, Array.prototype, Function.prototype, String.prototype]
    .map((prototype) => Reflect.ownKeys(prototype).map(String).join())
    .join('|');
