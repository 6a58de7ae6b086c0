import { describe, expect, test } from 'vitest';
import {
  type Observation,
  type Life,
  LIVE,
  nextLife,
  type Step,
} from '#projections/engine/target.ts';

const FILLING: Life = { stage: 'filling', isRead: false };
const VERIFYING: Life = { stage: 'verifying' };
const AWAITING: Life = { stage: 'awaiting', until: 9 };
const BORROWED: Life = { stage: 'live', returnsAt: 100 };
const LOST: Life = { stage: 'lost', isRead: true };
const REPLACED: Life = { stage: 'lost', isRead: false };
const DROPPED: Life = { stage: 'dropped' };

type Inspected = Observation & { is: 'inspected' };
const inspected = (differing: Partial<Inspected>): Inspected => ({
  is: 'inspected',
  isLive: false,
  isOvertaken: false,
  isFolded: true,
  lowest: 8,
  now: 99,
  ...differing,
});
const own: Observation = { is: 'filled', upTo: 9, isWhole: false, returnsAt: 100 };
const whole: Observation = { is: 'filled', upTo: 9, isWhole: true, returnsAt: 100 };

/** For each observation the next stage; nothing changes in a stage that the row does not name. */
const TABLE: [name: string, seen: Observation, steps: [from: Life, step: Step][]][] = [
  [
    'own partitions are filled',
    own,
    [
      [FILLING, { life: AWAITING }],
      [VERIFYING, { life: AWAITING }],
    ],
  ],
  [
    'all partitions are filled',
    whole,
    [
      [FILLING, { life: BORROWED, effect: 'goLive' }],
      [VERIFYING, { life: BORROWED, effect: 'goLive' }],
    ],
  ],
  ['an operator filled it', { is: 'rebuilt' }, [[FILLING, { life: VERIFYING }]]],
  ['a check refused it', { is: 'refused' }, [[VERIFYING, { life: DROPPED, effect: 'drop' }]]],
  [
    'the store has less than it confirmed',
    { is: 'lost' },
    [AWAITING, LIVE, BORROWED].map((from): [Life, Step] => [from, { life: LOST }]),
  ],
  ['it is live', inspected({ isLive: true }), [[AWAITING, { life: LIVE }]]],
  [
    'it is live, and its borrowed partitions are due',
    inspected({ isLive: true, now: 100 }),
    [
      [AWAITING, { life: LIVE }],
      [BORROWED, { life: REPLACED }],
    ],
  ],
  [
    'it is live, and this process folds nothing of it',
    inspected({ isLive: true, isFolded: false, now: 100 }),
    [[AWAITING, { life: LIVE }]],
  ],
  [
    'another space is live, and it is not complete',
    inspected({}),
    [
      [AWAITING, { life: AWAITING, effect: 'advance' }],
      [LIVE, { life: REPLACED }],
      [BORROWED, { life: REPLACED }],
    ],
  ],
  [
    'another space is live, and it is complete',
    inspected({ lowest: 9 }),
    [
      [AWAITING, { life: LIVE, effect: 'goLive' }],
      [LIVE, { life: REPLACED }],
      [BORROWED, { life: REPLACED }],
    ],
  ],
  [
    'a later build overtook it',
    inspected({ isOvertaken: true, lowest: 9 }),
    [AWAITING, LIVE, BORROWED].map((from): [Life, Step] => [from, { life: REPLACED }]),
  ],
  [
    'a later build overtook it, and this process folds nothing of it',
    inspected({ isOvertaken: true, isFolded: false }),
    [AWAITING, LIVE, BORROWED].map((from): [Life, Step] => [
      from,
      { life: from, effect: 'follow' },
    ]),
  ],
];

const STAGES = [FILLING, VERIFYING, AWAITING, LIVE, BORROWED, LOST, REPLACED, DROPPED];

describe('The life of a space', () => {
  for (const [name, seen, steps] of TABLE)
    test(`A space's life changes as the table says after the observation that ${name}`, () => {
      const expected = new Map(steps);
      for (const life of STAGES)
        expect(nextLife(life, seen), life.stage).toEqual(expected.get(life) ?? { life });
    });
});
