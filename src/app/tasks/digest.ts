import type { TaskCall } from '../pipeline/call.ts';
import { done, type Outcome } from '../pipeline/outcome.ts';

/** An answer is kept with its task: as large as a tool's result, and no larger. */
export const ARTIFACT_BYTES_MAX = 32_768;

type Digest = { answer: object; cut: boolean };

/**
 * The numbers with as many rows as a task keeps. A page that is too large is asked for again with
 * fewer, so that its cursor goes on behind the last row that is there.
 */
export const digestOf = async (
  call: Pick<TaskCall, 'within'>,
  input: Record<string, unknown>,
): Promise<Outcome<Digest>> => {
  let outcome = await call.within('getPerformance', input);
  for (let cut = false; outcome.ok; cut = true) {
    const answer = outcome.value as { data: unknown[] };
    const bytes = Buffer.byteLength(JSON.stringify(answer));
    if (bytes <= ARTIFACT_BYTES_MAX) return done({ answer, cut });
    const limit = Math.floor((answer.data.length * ARTIFACT_BYTES_MAX) / bytes);
    outcome = await call.within('getPerformance', { ...input, limit });
  }
  return outcome;
};
