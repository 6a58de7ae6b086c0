/** Who counts as another person among people who sign in, holders of tokens, and the machine. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authenticator } from '#src/calls/authenticate.ts';
import type { DeskCaller } from '#src/shared/call.ts';
import { seedOr } from '../support/seed.ts';
import { expectProved } from '../support/audit/export.ts';
import { freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { browsing, type Invited, settled, signInByMail } from '../support/world/browsing.ts';

const HOUR_MS = 3_600_000;

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
  app.service.dispatcher.start();
});
afterAll(() => app.close());

/** Somebody at the desk, as they are when they act. */
type Actor = () => Promise<DeskCaller>;

const callerOf = (credential: string, usedIn: 'browser' | 'command_line'): DeskCaller => {
  const found = authenticator(app.service.deps).desk(credential, usedIn);
  if (!found.ok) throw new Error(found.detail);
  return found.value;
};
/** Signs in anew, in a browser of its own, each time that they act. */
const signsIn =
  (person: Invited): Actor =>
  async () => {
    // The newest message has the link.
    app.clock.advance(1_000);
    const browser = browsing(app);
    await signInByMail(app, browser, person.mailbox);
    await settled(app);
    return callerOf(browser.cookies.get('__Host-session') ?? '', 'browser');
  };
const holds =
  (token: string): Actor =>
  async () =>
    callerOf(token, 'command_line');

const perform = (id: string, caller: DeskCaller, input: Record<string, unknown>) =>
  app.service.app.desk.performAs(id as 'approveAccess', {
    caller,
    surface: 'desk',
    requestId: app.service.deps.ids.uuid(),
    input: { ...input, idempotency_key: freshKey() },
  });
const done = async (id: string, actor: Actor, input: Record<string, unknown>): Promise<never> => {
  const outcome = await perform(id, await actor(), input);
  if (!outcome.ok)
    throw new Error(`${id}: ${outcome.detail} ${JSON.stringify(outcome.errors ?? '')}`);
  await settled(app);
  return outcome.value as never;
};

let made = 0;
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const nextName = (): string => {
  made += 1;
  return `Somebody ${LETTERS[made % 20]}${LETTERS[Math.floor(made / 20) % 20]}`;
};
const STAFF = { roles: ['staff', 'operator'] };
/** Invites somebody as another one does, or the machine. */
const invites = async (by: Actor, name = nextName()): Promise<Invited & { acts: Actor }> => {
  const mailbox = `${made}.${freshKey()}@mail.example`;
  const { id, invitation_url } = await done('invitePerson', by, { name, mailbox, ...STAFF });
  const person = { id: String(id), name, mailbox, link: new URL(invitation_url).pathname };
  return { ...person, acts: signsIn(person) };
};
const issues = async (by: Actor, input: object): Promise<Actor> => {
  const { token } = (await done('issueDeskToken', by, { ...STAFF, ...input })) as { token: string };
  await settled(app);
  return holds(token);
};
const machine: Actor = async () => callerOf(app.deskToken, 'command_line');

/** Whether one may approve what the other asked for. */
const approves = async (asker: Actor, approver: Actor): Promise<boolean> => {
  const request = { owner_id: 'acme', name: 'Agent', purpose: 'Tests', scopes: ['links:write'] };
  const { id } = (await done('requestAccess', asker, request)) as { id: string };
  const outcome = await perform('approveAccess', await approver(), {
    agent_id: id,
    reason: 'Known',
  });
  if (!outcome.ok && outcome.code !== 'approver_not_independent') throw new Error(outcome.detail);
  return outcome.ok;
};

type Pair = { one: Actor; other: Actor };

/** Each pair: how it is made, and whether the two count as two, in both directions. */
const PAIRS: readonly (readonly [name: string, make: () => Promise<Pair>, areTwo: boolean])[] = [
  [
    'two people whom the machine invited',
    async () => ({ one: (await invites(machine)).acts, other: (await invites(machine)).acts }),
    true,
  ],
  [
    'one person in two browsers',
    async () => {
      const { acts } = await invites(machine);
      return { one: acts, other: acts };
    },
    false,
  ],
  [
    'a person and the one whom they invited today',
    async () => {
      const { acts } = await invites(machine);
      return { one: acts, other: (await invites(acts)).acts };
    },
    false,
  ],
  [
    'a person and the one whom they invited a day ago',
    async () => {
      const { acts } = await invites(machine);
      const other = await invites(acts);
      app.clock.advance(24 * HOUR_MS);
      return { one: acts, other: other.acts };
    },
    true,
  ],
  [
    'a person and the one whom somebody whom they invited invited today',
    async () => {
      const { acts } = await invites(machine);
      const between = await invites(acts);
      return { one: acts, other: (await invites(between.acts)).acts };
    },
    false,
  ],
  [
    'two people whom one person invited today',
    async () => {
      const { acts } = await invites(machine);
      return { one: (await invites(acts)).acts, other: (await invites(acts)).acts };
    },
    true,
  ],
  [
    'a person and the one whose roles they changed today',
    async () => {
      const { acts } = await invites(machine);
      const other = await invites(machine);
      const change = {
        person_id: other.id,
        roles: ['operator', 'staff', 'auditor'],
        reason: 'More',
      };
      await done('changePersonRoles', acts, change);
      return { one: acts, other: other.acts };
    },
    false,
  ],
  [
    'a person and the holder of a token that they issued long ago',
    async () => {
      const { acts } = await invites(machine);
      const other = await issues(acts, { name: nextName() });
      app.clock.advance(72 * HOUR_MS);
      return { one: acts, other };
    },
    false,
  ],
  [
    'a person and a token of the same person',
    async () => {
      const { acts, id } = await invites(machine);
      return { one: acts, other: await issues(machine, { name: nextName(), person_id: id }) };
    },
    false,
  ],
  [
    'a person and a token with a name that looks the same',
    async () => {
      const { acts, name } = await invites(machine, 'Dora Coil');
      expect(name).toBe('Dora Coil');
      return { one: acts, other: await issues(machine, { name: 'D0RA C0IL' }) };
    },
    false,
  ],
  [
    'a person and a token with a look-alike name and an id of its own',
    async () => {
      const { acts } = await invites(machine, 'Otto Bell');
      const other = await issues(machine, { name: 'Otto BeII', person_id: 'otto@x' });
      return { one: acts, other };
    },
    false,
  ],
  [
    'a person and a token of another one',
    async () => ({
      one: (await invites(machine)).acts,
      other: await issues(machine, { name: nextName() }),
    }),
    true,
  ],
];

describe('Who counts as another person', () => {
  it.each(PAIRS)(
    'The table of pairs says of %s whether they are two',
    async (_name, make, areTwo) => {
      const { one, other } = await make();
      expect(await approves(one, other)).toBe(areTwo);
      expect(await approves(other, one)).toBe(areTwo);
    },
  );

  it('The machine never counts as the second person, and a person approves what the machine asked for', async () => {
    const { acts } = await invites(machine);
    expect(await approves(acts, machine)).toBe(false);
    expect(await approves(machine, acts)).toBe(true);
  });
});

/** A generator of numbers from a seed, so that a failure can be repeated. */
const randomFrom = (seed: number) => {
  let state = seed >>> 0;
  return (max: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * max);
  };
};

it('A random walk of invitations, ends, tokens and approvals never lets one human be two', async () => {
  const seed = seedOr(Math.floor(performance.now()));
  const random = randomFrom(seed);
  /** The human behind each way of acting: one human has a person, and tokens under names that look like theirs. */
  const ways: { human: number; acts: Actor }[] = [];
  const humans: { name: string; person: Invited & { acts: Actor } }[] = [];
  const anybody = () => ways[random(ways.length)] as (typeof ways)[number];
  for (let human = 0; human < 3; human += 1) {
    const person = await invites(machine);
    humans.push({ name: person.name, person });
    ways.push({ human, acts: person.acts });
  }
  for (let step = 0; step < 12; step += 1) {
    const human = random(humans.length);
    const { name, person } = humans[human] as (typeof humans)[number];
    const act = random(4);
    if (act === 0) ways.push({ human, acts: await issues(machine, { name: name.toUpperCase() }) });
    if (act === 1)
      ways.push({ human, acts: await issues(machine, { name: `${name}.`, person_id: person.id }) });
    if (act === 2) app.clock.advance(random(30) * HOUR_MS);
    const [asker, approver] = [anybody(), anybody()];
    const isApproved = await approves(asker.acts, approver.acts);
    if (isApproved) expect(asker.human, `SEED=${seed}`).not.toBe(approver.human);
  }
  await expectProved(app, ['desk'], `SEED=${seed}`);
}, 120_000);
