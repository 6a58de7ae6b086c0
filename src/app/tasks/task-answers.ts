import type { EventData } from '#contracts/events/index.ts';
import type { TaskCall } from '../pipeline/call.ts';
import { done, type Outcome } from '../pipeline/outcome.ts';

/** Limit of an answer that is stored with its task: the same as that of a tool's result. */
const ARTIFACT_BYTES_MAX = 32_768;

type Artifact = EventData<'TaskCompleted'>['artifact'];
type Input = Record<string, unknown>;

/**
 * Reads performance with as many rows as an artifact holds. A page that is too large is read again with fewer
 * rows, so that its cursor continues after the last row in it.
 */
export const readDigest = async (call: TaskCall, input: Input): Promise<Outcome<Artifact>> => {
  let outcome = await call.within('getPerformance', input);
  for (let cut = false; outcome.ok; cut = true) {
    const { data } = outcome.value as { data: unknown[] };
    const content = JSON.stringify(outcome.value);
    const bytes = Buffer.byteLength(content);
    if (bytes <= ARTIFACT_BYTES_MAX) return done({ name: 'digest', ...(cut && { cut }), content });
    const limit = Math.floor((data.length * ARTIFACT_BYTES_MAX) / bytes);
    outcome = await call.within('getPerformance', { ...input, limit });
  }
  return outcome;
};

/** Explains an attribution; drops events from the end of the chain until the answer fits, and then says `cut`. */
export const readAttribution = async (call: TaskCall, input: Input): Promise<Outcome<Artifact>> => {
  const outcome = await call.within('answerAttributionQuestion', input);
  if (!outcome.ok) return outcome;
  const answer = outcome.value as { chain: unknown[] };
  for (let { chain } = answer, cut = false; ; cut = true) {
    const content = JSON.stringify({ ...answer, chain });
    if (Buffer.byteLength(content) <= ARTIFACT_BYTES_MAX)
      return done({ name: 'attribution', content, ...(cut && { cut }) });
    if (chain.length === 0) throw new Error('an answer is too large to be stored');
    chain = chain.slice(0, Math.floor(chain.length * 0.75));
  }
};
