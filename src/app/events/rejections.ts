import type { ProblemCode } from '#contracts/problems.ts';
import { type Refusal, refuse } from '../pipeline/outcome.ts';
import type { RejectedBy } from './decide-and-append.ts';

/** The problem that each rejection of one decider becomes. A missing one does not compile. */
export type ProblemByRejection<Reason extends string> = Readonly<Record<Reason, ProblemCode>>;

/** Starts a detail that a decider wrote with a capital letter. */
export const sentence = (detail: string): string =>
  `${detail.charAt(0).toUpperCase()}${detail.slice(1)}.`;

/** Makes the refusal of a rejected command; `notFound` answers for a record that does not exist. */
export const refuseRejected = <Reason extends string>(
  problems: ProblemByRejection<Reason>,
  { rejected, detail }: RejectedBy<Reason>,
  notFound: Refusal,
): Refusal => {
  const code = problems[rejected];
  return code === 'resource_not_found' ? notFound : refuse(code, sentence(detail));
};
