import { EXIT, Failure } from './exit.ts';

/** As much of a problem as the command line tells. */
export type Refused = {
  title: string;
  detail: string;
  recovery?: { hint: string };
  errors?: { pointer: string; detail: string }[];
  outcome?: unknown;
};

/** A problem as a person reads it: what, why, where, and the way on. */
const problemText = ({ title, detail, errors = [], recovery }: Refused): string =>
  [
    `${title}: ${detail}`,
    ...errors.map((fault) => `  ${fault.pointer || '/'}: ${fault.detail}`),
    ...(recovery ? [recovery.hint] : []),
  ].join('\n');

/** Ends a command with a problem; a write of which nobody knows ends otherwise than a refusal. */
export const refused = (problem: Refused): Failure =>
  new Failure(
    problem.outcome === 'unknown' ? EXIT.unknown : EXIT.refused,
    problemText(problem),
    problem,
  );
