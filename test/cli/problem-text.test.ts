import { expect, it } from 'vitest';
import { PROBLEMS, type ProblemCode } from '#contracts/problems.ts';
import { formatProblem } from '#src/cli/problem-text.ts';
import { problemBody } from '#src/web/problem.ts';

it('The command line prints the request id with each fault of the service, and with no other problem', () => {
  const requestId = '0193a1b2-0000-7000-8000-000000000001';
  const codes = Object.keys(PROBLEMS) as ProblemCode[];
  const printed = codes.filter((code) => {
    const body = problemBody({ code, detail: 'Why.' }, { origin: 'https://t.example', requestId });
    return formatProblem(body, {}).includes(`Request id: ${requestId}`);
  });
  expect(printed).toEqual(codes.filter((code) => PROBLEMS[code].status >= 500));
  expect(printed).toContain('internal_error');
});
