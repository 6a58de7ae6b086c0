/** How far a long audit has read an owner's history, shown while its answer is awaited. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Desk } from '#src/cli/desk/desk-transport.ts';
import { type Progress, startProgress } from '../terminal/progress.ts';

/** Most answers arrive before the first look. */
const LOOK_EVERY_MS = 500;

/** Returns the answer. A signal meanwhile prints how far the audit is and ends the process. */
export const showReading = async <Answer>(
  desk: Desk,
  { owner_id = '' }: { owner_id?: string },
  answer: Promise<Answer>,
): Promise<Answer> => {
  const answered = new AbortController();
  const { signal } = answered;
  const look = async (): Promise<void> => {
    let bar: Progress | undefined;
    try {
      while (!signal.aborted) {
        await pause(LOOK_EVERY_MS, undefined, { signal });
        const { reading } = await desk.call('auditProgress', { owner_id });
        if (signal.aborted || !reading) continue;
        bar ??= startProgress({ label: `history of ${owner_id}`, total: 0, unit: 'positions' });
        bar.update(reading.position, reading.up_to);
      }
    } catch {
      // Answered during the pause, or the look failed: the answer itself says why.
    } finally {
      bar?.stop();
    }
  };
  const looking = look();
  try {
    return await answer;
  } finally {
    answered.abort();
    await looking;
  }
};
