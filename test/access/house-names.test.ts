/** No promoter and no agent has a name that looks like the service, by every way in which a name is given. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { z } from 'zod';
import { deskOperations } from '#contracts/registries/desk.ts';
import { holderOperations } from '#contracts/registries/holders.ts';
import { testApp, type TestApp } from '../support/world/app.ts';
import { people } from '../support/world/people.ts';

let app: TestApp;
let world: ReturnType<typeof people>;
beforeAll(async () => {
  app = await testApp({ PUBLIC_URL: 'https://www.bazaar.example' });
  world = people(app);
  app.service.dispatcher.start();
});
afterAll(() => app.close());

/** Fields by which an operation of the desk names a promoter or an agent, and an input that it accepts. */
const NAMING: Record<string, { names: string[]; path: string; input: object }> = {
  configureOutreach: {
    names: ['owner_id'],
    path: '/outreach/{owner_id}',
    input: { mode: 'admin_approved', channels: [{ kind: 'message', adapter: 'file' }] },
  },
  issueDeskToken: {
    names: ['owner_id', 'name'],
    path: '/desk-tokens',
    input: { name: 'Ann Lee', roles: ['owner'] },
  },
  requestAccess: {
    names: ['owner_id', 'name'],
    path: '/agents',
    input: { name: 'Letter agent', purpose: 'Letters', scopes: ['products:read'] },
  },
  grantAccess: {
    names: ['owner_id', 'name'],
    path: '/access-grants',
    input: {
      name: 'Letter agent',
      purpose: 'Letters',
      scopes: ['products:read'],
      reason: 'The first one',
    },
  },
  setOwnerProfile: {
    names: ['owner_id', 'name'],
    path: '/owners/{owner_id}/profile',
    input: { name: 'Acme', postal_address: 'London', mailbox: 'office@acme.example' },
  },
};
/** Commands about a promoter who exists. */
const ABOUT = [
  'confirmOwnerMailbox',
  'haltOutreach',
  'removeOwnerProfile',
  'resumeOutreach',
  'setAutomaticDelivery',
];
const ABOUT_PEOPLE = ['allowContact', 'refuseContact'];
/** What the applicant enters, and chooses with the link. */
const BY_HOLDERS = ['applyForAccess', 'confirmApplication'];

it('Every operation that takes the name of a promoter is known', () => {
  type Operation = { id: string; kind?: string; input: z.ZodObject };
  const takesOwner = ({ input }: Operation): boolean => {
    const field = input.shape['owner_id'] as z.ZodType | undefined;
    // The names of promoters, and not of the spaces of the service.
    return field?.safeParse('acme').success === true && !field.safeParse('testacme').success;
  };
  const registries = [deskOperations, holderOperations] as unknown as Record<string, Operation>[];
  const ids = registries.flatMap((operations) =>
    Object.entries(operations).flatMap(([id, one]) =>
      one.kind !== 'query' && takesOwner(one) ? [id] : [],
    ),
  );
  const known = [...Object.keys(NAMING), ...ABOUT, ...ABOUT_PEOPLE, ...BY_HOLDERS];
  expect(ids.toSorted()).toEqual(known.toSorted());
});

/** The names of promoters have letters and digits of ASCII only. */
const IDS = ['staff', 'system', 'tributary', 'tr1butary', 'sy5tem', 'systern', 'staff2', 'bazaar'];
const NAMES = [...IDS, 'Tributary', 'Ѕtaff', 'Tríbutary', 'The System Team', 'bazaar.example'];
const wrongNames = (field: string): string[] =>
  // The name of a person at the desk has letters of one script.
  field === 'owner_id' ? IDS : NAMES;

it.each(Object.entries(NAMING))('%s refuses them', async (id, { names, path, input }) => {
  for (const field of names)
    for (const wrong of wrongNames(field)) {
      const named: Record<string, unknown> = { owner_id: 'acme', ...input, [field]: wrong };
      const { owner_id, ...rest } = named;
      const isInPath = path.includes('{owner_id}');
      const { status, body } = await app.desk(
        'POST',
        path.replace('{owner_id}', String(owner_id)),
        isInPath ? rest : named,
      );
      expect([status, body], `${id}: ${field} ${wrong}`).toMatchObject([
        422,
        { errors: [{ pointer: `/${field}` }] },
      ]);
    }
  const { owner_id, ...rest } = { owner_id: 'acme', ...input };
  const isInPath = path.includes('{owner_id}');
  const filled = path.replace('{owner_id}', owner_id);
  const accepted = await app.desk('POST', filled, isInPath ? rest : { owner_id, ...rest });
  expect(accepted.status, accepted.text).toBeLessThan(300);
});

it('An application refuses them, as it is sent and as it is confirmed', async () => {
  let networks = 0;
  const post = (url: string, fields: Record<string, string>) =>
    app.send({
      method: 'POST',
      url,
      payload: new URLSearchParams(fields).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      remoteAddress: `192.0.2.${(networks += 1)}`,
    });
  const form = {
    name: 'Ada Ltd',
    postal_address: 'London',
    mailbox: 'ada@northgift.example',
    owner_id: 'northgift',
    agent_name: 'Letter agent',
    purpose: 'Letters',
    scopes: 'products:read',
  };
  for (const field of ['owner_id', 'name', 'agent_name'])
    for (const wrong of wrongNames(field)) {
      const { status, text } = await post('/apply', { ...form, [field]: wrong });
      expect(status, `${field} ${wrong}`).toBe(422);
      expect(text).toContain('not one of this service');
    }
  expect((await post('/apply', form)).status).toBe(200);
  const link = await world.mailedPath(form.mailbox);
  for (const owner_id of IDS)
    expect((await post(`${link}/confirm`, { owner_id })).status, owner_id).toBe(422);
  expect((await post(`${link}/confirm`, { owner_id: 'northgift' })).status).toBe(303);
});

it('A token of the service may have them: it belongs to no promoter', async () => {
  const token = { name: 'Staff', roles: ['staff'] };
  expect((await app.desk('POST', '/desk-tokens', token)).status).toBe(201);
});
