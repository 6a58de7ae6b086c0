/**
 * Test keys act in a space of their own beside their owner's: other streams, same code. No owner's
 * name begins as one does (fields.ts), so that the two never meet.
 */
export const TEST_PREFIX = 'test';

/** The owner under whom a test key's records live. */
export const testSpaceOf = (ownerId: string): string => TEST_PREFIX + ownerId;

export const isTestSpace = (ownerId: string): boolean => ownerId.startsWith(TEST_PREFIX);

/** The owner behind a test space; any other owner is its own. */
export const liveOwnerOf = (ownerId: string): string =>
  isTestSpace(ownerId) ? ownerId.slice(TEST_PREFIX.length) : ownerId;
