import type { TaskCall } from '../pipeline/call.ts';
import { done, type Outcome } from '../pipeline/outcome.ts';

/** Limit of an answer that is stored with its task: the same as that of a tool's result. */
export const ARTIFACT_BYTES_MAX = 32_768;

type Digest = { answer: object; cut: boolean };

/**
 * Reads performance with as many rows as an artifact holds. A page that is too large is read again with fewer
 * rows, so that its cursor continues after the last row in it.
 */
export const performanceDigest = async (
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
