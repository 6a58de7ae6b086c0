/** What a consistency token of this log answers while the log is another one. */
import { describe, expect, it } from 'vitest';
import { agentOperations, recordOperations } from '#contracts/registries/agents.ts';
import { deskOperations } from '#contracts/registries/desk.ts';
import type { Declared } from '#contracts/operation.ts';
import { taskOperations } from '#contracts/tasks/operations.ts';
import { awaitWrites, consistencyToken } from '#src/calls/pipeline.ts';
import { memoryEventLog } from '../support/memory-event-log.ts';

const [FOLDED, HEAD, BEYOND] = [5, 9, 12];

/** A process whose server has the known log, or another one. */
const world = (replacement?: string) => ({
  log: {
    ...memoryEventLog({ id: 'known-log-1' }),
    head: async () => ({ position: HEAD, at: null }),
    replacement: () => replacement,
  },
  following: {
    passed: async (position: number) => position <= FOLDED,
    asOf: () => ({ position: FOLDED, at: null }),
  },
});
const answerTo = async (position: number, replacement?: string, log = 'known-log-1') => {
  const acknowledged = { note: () => undefined, newest: () => undefined };
  const deps = { ...world(replacement), acknowledged };
  return (await awaitWrites(deps, { owner: 'acme' }, consistencyToken(log, position)))?.code;
};

describe('A consistency token', () => {
  it('A consistency token is answered as before while the server has the known log', async () => {
    expect(await answerTo(FOLDED)).toBeUndefined();
    expect(await answerTo(HEAD)).toBe('consistency_timeout');
    expect(await answerTo(BEYOND)).toBe('consistency_token_invalid');
  });

  it('A consistency token of the known log is never called invalid while the log is replaced', async () => {
    expect(await answerTo(FOLDED, 'another log')).toBeUndefined();
    for (const position of [HEAD, BEYOND])
      expect(await answerTo(position, 'another log')).toBe('log_replaced');
  });

  it('A consistency token of another log is invalid, also while the log is replaced', async () => {
    for (const replacement of [undefined, 'another log'])
      expect(await answerTo(FOLDED, replacement, 'other-log-1')).toBe('consistency_token_invalid');
  });

  it('A consistency token can be answered with log_replaced by each operation that accepts one', () => {
    const all = { ...agentOperations, ...recordOperations, ...deskOperations, ...taskOperations };
    const accepting = Object.entries<Declared>(all).filter(([, { problems }]) =>
      problems.includes('consistency_timeout'),
    );
    expect(accepting.length).toBeGreaterThan(4);
    for (const [id, { problems }] of accepting) expect(problems, id).toContain('log_replaced');
  });
});
