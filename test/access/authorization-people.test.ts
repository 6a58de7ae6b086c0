/** Who counts as another person, when one asks and another approves. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { configure, post, proposed } from '../support/world/outreach.ts';

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.close());

type Answer = { status: number; body: Record<string, never> };

const send = (key: string, path: string, payload: object): Promise<Answer> =>
  app.send({
    method: 'POST',
    url: `/api/desk/v1${path}`,
    key,
    payload,
    headers: { 'idempotency-key': freshKey() },
  });

const token = async (input: object, issuer = app.deskToken): Promise<string> => {
  const { status, body } = await send(issuer, '/desk-tokens', { roles: ['staff'], ...input });
  expect(status).toBe(201);
  return String(body['token']);
};

/** Acts for the promoter of REQUEST. */
const OWNER = { roles: ['owner'], owner_id: 'acme' };
const REQUEST = { owner_id: 'acme', name: 'Agent', purpose: 'Tests', scopes: ['products:read'] };
const requestAccess = async (key: string): Promise<string> => {
  const { status, body } = await send(key, '/agents', REQUEST);
  expect(status).toBe(201);
  return String(body['id']);
};
const approveAccess = (key: string, agentId: string): Promise<Answer> =>
  send(key, `/agents/${agentId}/approve`, { reason: 'Known' });

const refused = { status: 403, body: { code: 'approver_not_independent' } };

const machineRefused = {
  status: 403,
  body: {
    code: 'approver_not_independent',
    detail: expect.stringContaining("The machine's own token is no person"),
  },
};

describe('The name of a person', () => {
  it.each([
    ['Ann\u200b', 'invisible_character', 'U+200B'],
    ['A\u00adnn', 'invisible_character', 'U+00AD'],
    ['Ann\ufe0f', 'invisible_character', 'U+FE0F'],
    ['A\u180bnn', 'invisible_character', 'U+180B'],
    ['Ann\u00a0Lee', 'invisible_character', 'U+00A0'],
    ['Ann\nLee', 'invisible_character', 'U+000A'],
    ['\u0410nn', 'mixed_scripts', 'U+0410 (Cyrillic)'],
    ['Ann\u0391', 'mixed_scripts', 'U+0391 (Greek)'],
    ['Ann \u0555', 'mixed_scripts', 'U+0555 (Armenian)'],
    ['Ann \u13aa', 'mixed_scripts', 'U+13AA (another script)'],
    ['\u0421\u0430sha \u0421\u0438', 'mixed_scripts', 'U+0073 (Latin)'],
    ['\u2026', 'letter_missing', 'a letter'],
  ])(
    'The name %j is refused for a person, and the refusal names the character',
    async (name, code, detail) => {
      const answer = await send(app.deskToken, '/desk-tokens', { name, roles: ['staff'] });
      expect(answer).toMatchObject({
        status: 422,
        body: { code: 'validation_failed', errors: [{ pointer: '/name', code }] },
      });
      expect(JSON.stringify(answer.body)).toContain(detail);
    },
  );

  it.each([
    'Zoë O’Neil',
    'Саша',
    'Νίκος',
    '田中 Ken',
    'たなか ケン',
    '김 Lee',
    'ᎠᏂ',
    'علي',
    'Ann 2',
  ])('The name %j is accepted for a person', async (name) => {
    await token({ name });
  });
});

describe('A desk token', () => {
  it('A desk token holds the person id that the operator chose, in lower case, or one made from the name', async () => {
    const named = { name: 'Ann Lee', roles: ['staff'] };
    const chosen = await send(app.deskToken, '/desk-tokens', { ...named, person_id: 'Ann@A.Ex' });
    expect(chosen.body).toMatchObject({ person_id: 'ann@a.ex' });
    const derived = await send(app.deskToken, '/desk-tokens', named);
    expect(derived.body).toMatchObject({ person_id: 'name:ann lee' });
    const invalid = await send(app.deskToken, '/desk-tokens', { ...named, person_id: 'name:ann' });
    expect(invalid).toMatchObject({ status: 422, body: { errors: [{ pointer: '/person_id' }] } });
  });
});

describe('Access', () => {
  it('Access is approved by another person than the one who requested it', async () => {
    const ann = await token({ name: 'Ann One' });
    const bea = await token({ name: 'Bea One' });
    const agentId = await requestAccess(ann);
    expect(await approveAccess(ann, agentId)).toMatchObject(refused);
    expect((await approveAccess(bea, agentId)).status).toBe(200);
  });

  it('Access is not approved by the same person with another token', async () => {
    const ann = await token({ name: 'Ann Two', person_id: 'ann@two', ...OWNER });
    const agentId = await requestAccess(ann);
    const sameId = await token({ name: 'A. Second', person_id: 'ann@two' });
    expect(await approveAccess(sameId, agentId)).toMatchObject(refused);
    const sameName = await token({ name: 'ANN. TW0' });
    expect(await approveAccess(sameName, agentId)).toMatchObject(refused);
    const sameNameOtherId = await token({ name: 'Ann Two', person_id: 'other.ann@two' });
    expect((await approveAccess(sameNameOtherId, agentId)).status).toBe(200);
  });

  it('Access is not approved with a token that its holder issued, whoever asked', async () => {
    const ann = await token({ name: 'Ann Three', roles: ['operator', 'staff'] });
    const own = await token({ name: 'ann three' }, ann);
    const agentId = await requestAccess(await token({ name: 'Owner Three', ...OWNER }));
    expect(await approveAccess(own, agentId)).toMatchObject(refused);
    expect((await approveAccess(ann, agentId)).status).toBe(200);
  });

  it('Access is not approved with a token that the asker issued, or by who issued the token of the asker', async () => {
    const roles = ['operator', 'staff'];
    const ann = await token({ name: 'Ann Four', roles });
    const carl = await token({ name: 'Carl Four', roles }, ann);
    const dora = await token({ name: 'Dora Four', roles }, carl);
    const byAnn = await requestAccess(ann);
    expect(await approveAccess(carl, byAnn)).toMatchObject(refused);
    expect(await approveAccess(dora, byAnn)).toMatchObject(refused);
    const byDora = await requestAccess(dora);
    expect(await approveAccess(ann, byDora)).toMatchObject(refused);
    const bea = await token({ name: 'Bea Four' });
    expect((await approveAccess(bea, byAnn)).status).toBe(200);
    expect((await approveAccess(bea, byDora)).status).toBe(200);
  });

  it('Access that a person requested is not approved with the token of the machine, which is no person', async () => {
    const agentId = await requestAccess(await token({ name: 'Ann Nine', ...OWNER }));
    expect(await approveAccess(app.deskToken, agentId)).toMatchObject(machineRefused);
    expect((await approveAccess(await token({ name: 'Bea Nine' }), agentId)).status).toBe(200);
  });

  it('Access that the machine requested is approved by a person, and not with its own token', async () => {
    const agentId = await requestAccess(app.deskToken);
    expect(await approveAccess(app.deskToken, agentId)).toMatchObject(machineRefused);
    expect((await approveAccess(await token({ name: 'Bea Ten' }), agentId)).status).toBe(200);
  });

  it('The machine gives access by itself, as one event that claims neither a request nor an approval', async () => {
    const grant = (key: string, more: object = {}) =>
      send(key, '/access-grants', { ...REQUEST, reason: 'The first agent', ...more });
    const granted = await grant(app.deskToken);
    expect(granted).toMatchObject({
      status: 201,
      body: { status: 'approved', granted_scopes: REQUEST.scopes, reason: 'The first agent' },
    });
    const agent_id = String(granted.body['id']);
    const stored = await app.service.deps.log.readStream(`acme-agent_${agent_id.slice(4)}`);
    expect(stored.map(({ type, data }) => [type, data])).toEqual([
      [
        'AccessGranted',
        {
          agent_id,
          name: 'Agent',
          purpose: 'Tests',
          scopes: REQUEST.scopes,
          reason: 'The first agent',
        },
      ],
    ]);
    expect((await send(app.deskToken, `/agents/${agent_id}/keys`, {})).status).toBe(201);

    const ann = await token({ name: 'Ann Eleven', roles: ['operator', 'staff'] });
    expect(await grant(ann)).toMatchObject({ status: 403, body: { code: 'role_missing' } });
    expect(await grant(ann, { agent_id })).toMatchObject({ status: 403 });
  });

  it('The machine does not give what a person has requested, which another person decides', async () => {
    const reason = 'Wider';
    const mine = await requestAccess(app.deskToken);
    const granted = await send(app.deskToken, '/access-grants', {
      ...REQUEST,
      agent_id: mine,
      reason,
    });
    expect(granted).toMatchObject({ status: 201, body: { status: 'approved' } });
    expect(granted.body).not.toHaveProperty('pending');
    const theirs = await requestAccess(await token({ name: 'Ann Twelve', ...OWNER }));
    const input = { ...REQUEST, agent_id: theirs, reason };
    expect(await send(app.deskToken, '/access-grants', input)).toMatchObject({
      status: 409,
      body: { code: 'state_conflict', detail: expect.stringContaining('Approve or deny') },
    });
  });

  it('Access is decided by the last request: who widens it cannot approve the wider scopes', async () => {
    const ann = await token({ name: 'Ann Five', ...OWNER });
    const bea = await token({ name: 'Bea Five' });
    const agentId = await requestAccess(ann);
    const wider = { ...REQUEST, agent_id: agentId, scopes: ['links:write'] };
    expect((await send(bea, '/agents', wider)).status).toBe(201);
    expect(await approveAccess(bea, agentId)).toMatchObject(refused);
  });
});

describe('Outreach', () => {
  const proposal = async (owner: string, holder: string) => {
    const { agentId } = await app.agent(owner);
    const issued = await send(holder, `/agents/${agentId}/keys`, {});
    return proposed(app, String(issued.body['api_key']), 'requestSocialPost', post());
  };
  const approve = (key: string, { id, content_sha256 }: { id: string; content_sha256: string }) =>
    send(key, `/approvals/${id}/approve`, { content_sha256 });

  it("Outreach that staff control is not approved by the holder of the agent's key", async () => {
    await configure(app, 'staffs', { mode: 'admin_approved' });
    const ann = await token({ name: 'Ann Six', roles: ['operator', 'staff'] });
    const request = await proposal('staffs', ann);
    expect(await approve(ann, request)).toMatchObject(refused);
    expect(await approve(app.deskToken, request)).toMatchObject(machineRefused);
    const bea = await token({ name: 'Bea Six' });
    expect(await approve(bea, request)).toMatchObject({ body: { status: 'approved' } });
  });

  it('Outreach that its owner controls is approved by the owner who issued the key', async () => {
    await configure(app, 'owned', { mode: 'owner_controlled' });
    const ann = await token({ name: 'Ann Seven', roles: ['owner'], owner_id: 'owned' });
    const request = await proposal('owned', ann);
    expect(await approve(ann, request)).toMatchObject({ body: { status: 'approved' } });
  });

  it('Outreach that needs two people is not approved by one of them and a token which that one issued', async () => {
    await configure(app, 'two', { mode: 'admin_approved', approvals_required: 2 });
    const request = await proposal(
      'two',
      await token({ name: 'Own Eight', roles: ['owner'], owner_id: 'two' }),
    );
    const ann = await token({ name: 'Ann Eight', roles: ['operator', 'staff'] });
    const zoe = await token({ name: 'Zoe Eight' }, ann);
    expect(await approve(app.deskToken, request)).toMatchObject(machineRefused);
    expect(await approve(ann, request)).toMatchObject({ body: { status: 'pending_approval' } });
    expect(await approve(app.deskToken, request)).toMatchObject(machineRefused);
    expect(await approve(zoe, request)).toMatchObject(refused);
    const again = await token({ name: 'Ann. Eight', person_id: 'ann@eight' });
    const looksAlike = await token({ name: 'ANN E1GHT' });
    for (const key of [looksAlike, again])
      expect(await approve(key, request)).toMatchObject({ body: { status: 'pending_approval' } });
    const bea = await token({ name: 'Bea Eight' });
    expect(await approve(bea, request)).toMatchObject({ body: { status: 'approved' } });
  });
});
