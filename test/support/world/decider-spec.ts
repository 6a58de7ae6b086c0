import { expect } from 'vitest';
import type { Decider } from '#src/shared/decider.ts';

type Event = { type: string; data: object };

/** A log stores JSON, which has no members that are undefined. */
export const asStored = (value: object | undefined): unknown =>
  JSON.parse(JSON.stringify(value) ?? 'null');

/**
 * Tests a decider by given (events), when (a command), then (exactly these events, in this order). Every command that
 * is accepted is also executed twice: the second time it adds no event or is rejected.
 */
export const specify = <State, Command, E extends Event, Reason extends string>(
  decider: Decider<State, Command, E, Reason>,
) => ({
  given: (...history: E[]) => {
    const fold = (events: E[], from?: State): State | undefined =>
      events.reduce<State | undefined>(
        (state, event, i) => decider.evolve(state, { ...event, at: 1_000 + i }),
        from,
      );
    const state = fold(history);
    return {
      state,
      when: (command: Command) => {
        const decision = decider.decide(state, command);
        return {
          then: (...events: E[]) => {
            expect(asStored(decision)).toStrictEqual({ accepted: true, events });
            const after = fold(events, state);
            const again = decider.decide(after, command);
            if (again.accepted && events.length > 0) expect(again.events).toStrictEqual([]);
            return after;
          },
          rejected: (reason: Reason, detail: string | RegExp = /\S/) => {
            expect(decision).toMatchObject({ accepted: false, reason });
            expect(decision).toHaveProperty('detail', expect.stringMatching(detail));
          },
        };
      },
    };
  },
});
