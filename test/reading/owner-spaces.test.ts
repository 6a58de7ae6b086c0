import { expect, it } from 'vitest';
import { ownerId, ownerSpace } from '#contracts/fields.ts';
import { isTestSpace, liveOwnerOf, testSpaceOf } from '#contracts/spaces.ts';

it('The space of test keys has a name that no owner can have', () => {
  const space = testSpaceOf('acme');
  expect([isTestSpace(space), isTestSpace('acme')]).toEqual([true, false]);
  expect([liveOwnerOf(space), liveOwnerOf('acme')]).toEqual(['acme', 'acme']);
  expect([ownerId.safeParse(space).success, ownerId.safeParse('acme').success]).toEqual([
    false,
    true,
  ]);
  for (const name of [space, 'acme']) expect(ownerSpace.safeParse(name).success).toBe(true);
  for (const name of ['Acme', 'ac', 'acme-1'])
    expect(ownerSpace.safeParse(name).success, name).toBe(false);
});
