/** The role owner acts for one promoter: no token has it without an owner, however the token came to be. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deskOperations } from '#contracts/registries/desk.ts';
import { DESK_ROLE_NAMES, type DeskRole } from '#contracts/scopes.ts';
import { deskToken } from '#src/access/access.decider.ts';
import { authenticator, mintCredential } from '#src/calls/authenticate.ts';
import { createOnce } from '#src/writing/decide-and-append.ts';
import { SYSTEM_TOKEN } from '#src/calls/rules.ts';
import { streamOfToken } from '#src/writing/streams.ts';
import { HANG_MS } from '../support/hang.ts';
import { freshKey, testApp, type TestApp } from '../support/world/app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.close());

const subsets = (roles: readonly DeskRole[]): DeskRole[][] =>
  Array.from({ length: 2 ** roles.length - 1 }, (_, one) =>
    roles.filter((_role, bit) => (one + 1) & (1 << bit)),
  );

/** Stores a token that this version issues to nobody, and returns its credential. */
const store = async (
  { service: { deps } }: TestApp,
  { id, secret, roles }: { id: string; secret: string; roles: DeskRole[] },
): Promise<string> => {
  const credential = mintCredential('trbd', id, secret);
  const call = {
    ownerId: 'desk',
    actor: `desk:${SYSTEM_TOKEN}`,
    surface: 'cli' as const,
    operation: 'issueDeskToken',
    requestId: deps.ids.uuid(),
    at: deps.clock.now(),
    idem: freshKey(),
    fingerprints: [''] as const,
  };
  const token = {
    token_id: id,
    name: 'Ann Lee',
    person_id: 'name:ann lee',
    roles,
    hash: deps.secrets.mac('desk-token', credential),
  };
  const command = { type: 'IssueToken' as const, token };
  const written = await createOnce(deps, call, {
    stream: streamOfToken(id),
    decider: deskToken,
    command,
  });
  if (!written.ok) throw new Error(written.detail);
  await deps.following.passed((await deps.log.head()).position, HANG_MS);
  return credential;
};

describe('issueDeskToken', () => {
  it('The operation issueDeskToken gives the role owner to a token of one owner only, and no other role to it', async () => {
    for (const roles of subsets(DESK_ROLE_NAMES))
      for (const owner of [{}, { owner_id: 'acme' }]) {
        const token = { name: 'Ann Lee', roles, ...owner };
        const { status, body } = await app.desk('POST', '/desk-tokens', token);
        const isOwners = roles.join() === 'owner';
        const isAllowed = 'owner_id' in owner ? isOwners : !roles.includes('owner');
        expect(status, JSON.stringify(token)).toBe(isAllowed ? 201 : 422);
        if (isAllowed) continue;
        const pointer = 'owner_id' in owner ? '/roles' : '/owner_id';
        expect(body, JSON.stringify(token)).toMatchObject({ errors: [{ pointer }] });
      }
  });
});

describe('A token with the role owner and without an owner', () => {
  const use = (
    key: string,
    { http }: { http: { method: 'GET' | 'POST'; path: string } },
    n: number,
  ) =>
    app.send({
      method: http.method,
      url: `/api/desk/v1${http.path.replaceAll(/\{\w+\}/g, 'x')}`,
      // Each network has a limit of failed authentications.
      remoteAddress: `192.0.2.${n}`,
      key,
      ...(http.method === 'POST' && { payload: {}, headers: { 'idempotency-key': freshKey() } }),
    });

  it('A token with the role owner and without an owner is refused by every operation of the desk', async () => {
    const key = await store(app, { id: 'unbound00001', secret: 'a'.repeat(43), roles: ['owner'] });
    for (const [n, operation] of Object.values(deskOperations).entries()) {
      const { status, body } = await use(key, operation, n);
      expect([status, body], operation.id).toMatchObject([
        401,
        { code: 'credential_invalid', detail: expect.stringContaining('owner_id') },
      ]);
    }
  });

  it('A token with the role owner and without an owner has its other roles only, which no operation for the role owner alone accepts', async () => {
    const others = subsets(DESK_ROLE_NAMES.filter((role) => role !== 'owner'));
    for (const [n, roles] of others.entries()) {
      const stored = { secret: 'b'.repeat(43), roles: ['owner' as const, ...roles] };
      const key = await store(app, { ...stored, id: `unbound0${n + 1_000}` });
      for (const operation of Object.values(deskOperations)) {
        const accepts: readonly DeskRole[] = operation.roles;
        if (!accepts.includes('owner') || accepts.some((role) => roles.includes(role))) continue;
        const { status, body } = await use(key, operation, n);
        expect([status, body], `${operation.id} by ${roles.join()}`).toMatchObject([
          403,
          { code: 'role_missing' },
        ]);
      }
    }
  });
});

describe("The machine's own token", () => {
  const rolesOf = ({ service, directory }: TestApp): DeskRole[] => {
    const token = readFileSync(join(directory, 'desk.token'), 'utf8').trim();
    const caller = authenticator(service.deps).desk(token);
    if (!caller.ok) throw new Error(caller.detail);
    expect(caller.value.owners).toBeUndefined();
    return [...caller.value.roles];
  };
  const UNBOUND = DESK_ROLE_NAMES.filter((role) => role !== 'owner');

  it("The machine's own token has every role but owner from the first start on, and can issue the keys of agents", async () => {
    expect(rolesOf(app)).toEqual(UNBOUND);
    expect((await app.agent('acme')).key).toMatch(/^trb_live_/);
  });
});
