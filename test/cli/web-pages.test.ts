/** `--web` leads to a page that exists, and that the person may see. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deskOperations, type DeskOperationId } from '#contracts/registries/desk.ts';
import { hasWebPage, pageAddress } from '#src/cli/web-pages.ts';
import type { Desk } from '#src/cli/transport.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { type Browsing, invite, settled, signedInAs } from '../support/world/browsing.ts';
import { createShortLink } from '../support/world/links.ts';
import { configure, post, proposed } from '../support/world/outreach.ts';
import { people } from '../support/world/people.ts';

const ORIGIN = 'http://127.0.0.1:3000';

let app: TestApp;
let owner: Browsing;
let staff: Browsing;
const request: Record<string, string> = { owner_id: 'acme' };

beforeAll(async () => {
  app = await testApp();
  await app.publish([feedProduct('MUG-1')]);
  await configure(app, 'acme');
  const { key, agentId, keyId } = await app.agent('acme');
  const handoff_id = await people(app).rfq(key, 'bea@shop.example');
  const person = await invite(app, ['owner'], { owners: ['acme'] });
  Object.assign(request, {
    handoff_id,
    record_id: handoff_id,
    id: (await createShortLink(app, key)).id,
    lead_id: await people(app).lead(key, 'ada@shop.example'),
    agent_id: agentId,
    key_id: keyId,
    person_id: person.id,
    outbound_id: (await proposed(app, key, 'requestSocialPost', post())).id,
  });
  owner = await signedInAs(app, person);
  staff = await signedInAs(app, await invite(app, ['staff']));
});
afterAll(() => app.close());

/** The desk as a person has it who answers `whoAmI` so. */
const deskOf = (roles: string[], owners: string[]): Desk => ({
  server: { url: ORIGIN },
  call: (async (id: string) =>
    id === 'whoAmI' ? { roles, owners } : { owner_id: 'acme' }) as never,
});

const pages = (Object.keys(deskOperations) as DeskOperationId[]).filter(hasWebPage);
const inputOf = (id: DeskOperationId) =>
  Object.fromEntries(
    Object.keys(deskOperations[id].input.shape).flatMap((name) =>
      request[name] === undefined ? [] : [[name, request[name]]],
    ),
  );
/** The path of a page on the name of this machine, where people sign in. */
const pathOf = async (id: DeskOperationId, desk: Desk): Promise<string> => {
  const { origin, pathname, search } = new URL(await pageAddress(desk, id, inputOf(id)));
  expect(origin).toBe('http://localhost:3000');
  return pathname + search;
};
const mayCall = (id: DeskOperationId, role: 'owner' | 'staff'): boolean =>
  (deskOperations[id].roles as readonly string[]).includes(role);

describe('The page of a record', () => {
  it.each(pages.filter((id) => mayCall(id, 'staff')))(
    'The page of %s opens for staff',
    async (id) => {
      await settled(app);
      const path = await pathOf(id, deskOf(['staff'], []));
      expect((await staff.get(path)).status, path).toBe(200);
    },
  );

  it.each(pages.filter((id) => mayCall(id, 'owner')))(
    'The page of %s opens for an owner',
    async (id) => {
      await settled(app);
      const path = await pathOf(id, deskOf(['owner'], ['acme']));
      expect((await owner.get(path)).status, path).toBe(200);
    },
  );

  it('The page of a list without its promoter is that of the only one, and is asked for where there are several', async () => {
    expect(await pageAddress(deskOf(['owner'], ['acme']), 'listRfqs', {})).toMatch(/acme\/rfqs$/);
    const several = pageAddress(deskOf(['owner'], ['acme', 'rival']), 'listRfqs', {});
    await expect(several).rejects.toThrow('--owner');
    const key = { key_id: request['key_id'] };
    const two = deskOf(['owner'], ['acme', 'rival']);
    expect(await pageAddress(two, 'readKey', key)).toMatch(/\/o\/acme\/keys\//);
  });

  it('The page of a record needs a service that runs', async () => {
    const alone: Desk = { ...deskOf(['staff'], []), server: undefined };
    await expect(pageAddress(alone, 'listInbox', {})).rejects.toThrow('No service runs here');
  });
});
