/** What a running server says of its reads to doctor. */
import { z } from 'zod';
import type { RunningServer } from './server-file.ts';

const LOOK_MS = 5_000;
const names = z.array(z.string()).nullable();
const health = z.object({ status: z.string(), parked: names, waiting: names });

type Found = { name: string; state: 'ok' | 'warning'; detail: string };

/** One line where a server runs; takes up to five seconds. */
export const readsCheck = async (server: RunningServer | undefined): Promise<Found[]> => {
  if (!server) return [];
  const warning = (detail: string): Found[] => [{ name: 'reads', state: 'warning', detail }];
  try {
    const answer = await fetch(`${server.url}/readyz`, { signal: AbortSignal.timeout(LOOK_MS) });
    const { status, parked, waiting } = health.parse(await answer.json());
    if (parked?.length) return warning(`${parked.join(', ')} parked: tributary projections status`);
    if (waiting?.length)
      return warning(`${waiting.join(', ')} behind: does a projector run, and Redis answer it?`);
    if (status !== 'ready') return warning('the server is not ready: its log, or how far it is');
    return [{ name: 'reads', state: 'ok', detail: 'every read model follows the log' }];
  } catch (error) {
    return warning(`/readyz gives no answer: ${(error as Error).message}`);
  }
};
