/**
 * Prefix of the test space of an owner: test keys write other streams with the same code. No owner's name begins
 * with it (fields.ts), so that the two never collide.
 */
export const TEST_PREFIX = 'test';

/** Returns the owner id of the records of a test key. */
export const testSpaceOf = (ownerId: string): string => TEST_PREFIX + ownerId;

export const isTestSpace = (ownerId: string): boolean => ownerId.startsWith(TEST_PREFIX);

/** Returns the owner of a test space; returns any other owner unchanged. */
export const liveOwnerOf = (ownerId: string): string =>
  isTestSpace(ownerId) ? ownerId.slice(TEST_PREFIX.length) : ownerId;
