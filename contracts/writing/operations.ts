/** The operation that accepts the time of the log. */
import { z } from 'zod';
import { accessReason, deskCommand, EXAMPLE_AT } from '#contracts/desk-operation.ts';

const acceptClock = deskCommand({
  destructive: true,
  roles: ['operator'],
  path: '/clock/accept',
  summary: 'Decide that the clock is right although the newest event is ahead of it',
  guidance:
    'Use it when writes answer clock_behind and the clock of the server is right: an event has a wrong time. If the ' +
    'clock is wrong, set it instead, and no decision is needed. Credentials expire by the clock again.',
  fields: { reason: accessReason },
  output: z.object({
    accepted_at: z.string().describe('Time of the clock'),
    position: z.int().describe('Position of the event that was ahead'),
    event_at: z.string().describe('Time of that event'),
  }),
  example: {
    name: 'an event of the future',
    input: { idempotency_key: 'clock-1', reason: 'A test server wrote events of 2040' },
    output: { accepted_at: EXAMPLE_AT, position: 3119, event_at: '2040-01-01T00:00:00.000Z' },
  },
});

export const clockDeskOperations = { acceptClock };
