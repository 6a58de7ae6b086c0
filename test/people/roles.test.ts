/** What people may do by role and promoter, beside the holders of tokens with the same ones. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DeskOperationId, deskOperations } from '#contracts/registries/desk.ts';
import type { DeskOperation } from '#contracts/operation.ts';
import { DESK_ROLE_NAMES, type DeskRole } from '#contracts/scopes.ts';
import { authenticator } from '#src/calls/authenticate.ts';
import type { DeskCaller } from '#src/shared/call.ts';
import { freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { invite, settled, signedInAs } from '../support/world/browsing.ts';
import { person as tokenOf } from '../support/world/outreach.ts';

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
  app.service.dispatcher.start();
  await app.agent('acme');
  await app.agent('rival');
});
afterAll(() => app.close());

const callerOf = (credential: string, usedIn: 'browser' | 'command_line'): DeskCaller => {
  const found = authenticator(app.service.deps).desk(credential, usedIn);
  if (!found.ok) throw new Error(found.detail);
  return found.value;
};
/** Two callers with a role: a person in a browser, and the holder of a token. Owners act for acme. */
const callersWith = async (role: DeskRole): Promise<Record<'person' | 'token', DeskCaller>> => {
  const owner = role === 'owner' ? 'acme' : undefined;
  const invited = await invite(app, [role], owner === undefined ? {} : { owners: [owner] });
  const browser = await signedInAs(app, invited);
  const token = await tokenOf(app, [role], owner);
  await settled(app);
  return {
    person: callerOf(browser.cookies.get('__Host-session') ?? '', 'browser'),
    token: callerOf(token, 'command_line'),
  };
};
const perform = async (id: DeskOperationId, caller: DeskCaller, over: object = {}) => {
  const { examples, kind } = deskOperations[id] as DeskOperation;
  const input = { ...examples[0]?.input, ...over };
  const outcome = await app.service.app.desk.performAs(id as 'whoAmI', {
    caller,
    surface: 'desk',
    requestId: app.service.deps.ids.uuid(),
    input: kind === 'command' ? { ...input, idempotency_key: freshKey() } : input,
  });
  // A list of nothing shows nothing.
  const { data } = (outcome.ok ? outcome.value : {}) as { data?: unknown[] };
  if (data?.length === 0) return 'nothing';
  return outcome.ok ? 'ok' : outcome.code;
};

/** What an owner asks for where the example is one of staff. */
const AS_OWNER: Readonly<Record<string, object>> = {
  invitePerson: { roles: ['owner'], owners: ['acme'] },
};

const OPERATIONS: readonly DeskOperation[] = Object.values(deskOperations);
/** What no person may do, whatever the role. */
const OF_THE_MACHINE = new Set(['grantAccess']);
/** A change of these would end the callers of the walk, or stop the service for the rest of it. */
const ENDING = new Set(['acceptClock', 'haltOutreach', 'rebuildProjection', 'verifyProjection']);

describe.each(DESK_ROLE_NAMES)('A person with the role %s', (role) => {
  it('A person with a role may do what a token with it may do, and nothing else', async () => {
    const { person, token } = await callersWith(role);
    for (const { id, roles, isOnPage = false } of OPERATIONS) {
      if (ENDING.has(id)) continue;
      const isAllowed = roles.includes(role) && !OF_THE_MACHINE.has(id);
      const over = role === 'owner' ? AS_OWNER[id] : undefined;
      const asPerson = await perform(id as DeskOperationId, person, over);
      expect(asPerson === 'role_missing', `${id} as a person with ${role}: ${asPerson}`).toBe(
        !isAllowed,
      );
      const asToken = await perform(id as DeskOperationId, token, over);
      expect(asToken === 'role_missing', `${id} with a token of ${role}: ${asToken}`).toBe(
        !isAllowed || isOnPage,
      );
    }
  }, 60_000);
});

it('An owner acts for the own promoters alone, in every operation that names one', async () => {
  const { person, token } = await callersWith('owner');
  const named = OPERATIONS.filter(
    ({ roles, input }) => roles.includes('owner') && 'owner_id' in input.shape,
  );
  expect(named.length).toBeGreaterThan(15);
  for (const { id } of named)
    for (const caller of [person, token])
      expect(
        await perform(id as DeskOperationId, caller, { owner_id: 'rival' }),
        `${id} for rival`,
      ).not.toBe('ok');
});
