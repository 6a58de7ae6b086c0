/** What people of each role and of each promoter may do with the real records of one promoter. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { DeskOperation } from '#contracts/operation.ts';
import { type DeskOperationId, deskOperations } from '#contracts/registries/desk.ts';
import { DESK_ROLE_NAMES } from '#contracts/scopes.ts';
import { authenticator } from '#src/calls/authenticate.ts';
import type { DeskCaller } from '#src/shared/call.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { invite, settled, signedInAs } from '../support/world/browsing.ts';
import {
  APPROVAL_ABOVE,
  type Asked,
  atDesk,
  deskScenes,
  turn,
} from '../support/world/desk-scenes.ts';
import { configure, post, proposed } from '../support/world/outreach.ts';
import { people } from '../support/world/people.ts';

let app: TestApp;
let scenes: ReturnType<typeof deskScenes>;
/** People who are signed in, by their role, owners of acme and of rival. */
const callers = new Map<string, DeskCaller>();
/** Records of acme, by the name of the field that names one. */
const records: Record<string, string> = {};
/** A read of an agent of acme. */
let read_request: string;

const personWith = async (role: string, owners: string[]): Promise<string> => {
  const invited = await invite(app, [role], { owners });
  const browser = await signedInAs(app, invited);
  const credential = browser.cookies.get('__Host-session') ?? '';
  const found = authenticator(app.service.deps).desk(credential, 'browser');
  if (!found.ok) throw new Error(found.detail);
  callers.set([role, ...owners].join(' of '), found.value);
  return invited.id;
};

beforeAll(async () => {
  app = await testApp({
    OUTREACH_PER_MINUTE: '100000',
    WRITES_PER_MINUTE: '100000',
    APPROVAL_ABOVE: `${APPROVAL_ABOVE / 100} GBP`,
  });
  await app.publish([feedProduct('MUG-1')]);
  await configure(app, 'acme');
  const { key, agentId, keyId } = await app.agent('acme');
  await app.agent('rival');
  scenes = deskScenes(app, key);
  for (const role of DESK_ROLE_NAMES) if (role !== 'owner') await personWith(role, []);
  records['person_id'] = await personWith('owner', ['acme']);
  await personWith('owner', ['rival']);
  const profile = { name: 'Acme', postal_address: 'London', mailbox: 'office@acme.example' };
  await app.desk('POST', '/owners/acme/profile', profile);
  const lead = await people(app).lead(key, 'ada@shop.example');
  const handoff_id = await people(app).rfq(key, 'bea@shop.example');
  const { id: outbound_id } = await proposed(app, key, 'requestSocialPost', post());
  const named = { agent_id: agentId, key_id: keyId, lead_id: lead, handoff_id, outbound_id };
  const [submitted] = await app.service.deps.log.readStream(`acme-lead_${lead.slice(4)}`);
  const request_id = submitted?.meta.request ?? '';
  Object.assign(records, named, { request_id, product: 'MUG-1' });
  Object.assign(records, { owner_id: 'acme', record_id: lead, id: lead });
  const { headers } = await app.send({ url: '/api/affiliate/v1/performance', key });
  await app.service.deps.audit.flush();
  read_request = headers['request-id'] ?? '';
  await settled(app);
});
afterAll(() => app.close());
afterEach(async () => {
  for (const owner of ['acme', undefined]) await atDesk(app, turn('resume', owner));
});

const OPERATIONS: readonly DeskOperation[] = Object.values(deskOperations);
/** Not about a promoter: the own sessions and ways in of who calls, and the read models. */
const OWN = new Set(['endSession', 'removePasskey', 'unlinkAccount', 'listSessions', 'whoAmI']);
const OF_THE_SERVICE = new Set([
  'listProjections',
  'listParked',
  'verifyProjection',
  'readHeldBuild',
  'listPeople',
]);
const others = OPERATIONS.filter(
  ({ id, isOnPage = false }) => !isOnPage && !OWN.has(id) && !OF_THE_SERVICE.has(id),
);

const perform = async (id: string, caller: DeskCaller, input: Record<string, unknown>) => {
  const outcome = await app.service.app.desk.performAs(id as 'whoAmI', {
    caller,
    surface: 'desk',
    requestId: app.service.deps.ids.uuid(),
    input,
  });
  return outcome.ok ? { code: 'ok', value: outcome.value } : { code: outcome.code };
};

/** The input of a call that names its record in its path. */
const inputOf = ({ http }: DeskOperation, { path, body }: Asked): object => {
  const pattern = http.path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)');
  const { groups } = new RegExp(`^${pattern}$`).exec(path) ?? {};
  return { ...groups, ...body };
};

const isAudit = (type: string): boolean => /^(?:ActivityRecorded|CallsAudited)$/.test(type);
const writesSince = async (after: number): Promise<string[]> => {
  await app.service.deps.audit.flush();
  const events = await app.service.deps.log.readAll({ after, limit: 1_000 });
  return events.flatMap(({ type }) => (isAudit(type) ? [] : [type]));
};

/** Those who may not: of other roles, and of another promoter. */
const refusedBy = ({ roles, id }: DeskOperation): readonly (readonly [string, DeskCaller])[] =>
  [...callers].filter(
    ([, caller]) =>
      id === 'grantAccess' ||
      caller.owners?.includes('rival') === true ||
      !roles.some((role) => caller.roles.has(role)),
  );

/** Their scenes are about people of staff, and a suspension by staff. */
const OF_STAFF = new Set(['endPerson', 'invitePerson', 'invitePersonAgain', 'reinstateAgent']);

describe.each(others.filter(({ kind }) => kind === 'command'))(
  'The desk operation $id on a record of a promoter',
  (operation) => {
    it('People of another promoter and of other roles change nothing, and one with the role does', async () => {
      const { id, roles } = operation;
      const make =
        scenes.repeated[id as DeskOperationId] ?? scenes.shownOnce[id as DeskOperationId];
      if (!make) throw new Error(`no scene of ${id}`);
      const { first } = await make();
      const input = inputOf(operation, first);
      await settled(app);
      const { position } = await app.service.deps.log.head();
      for (const [who, caller] of refusedBy(operation)) {
        const { code } = await perform(id, caller, { ...input, idempotency_key: freshKey() });
        expect(code, `${id} by ${who}`).toMatch(/^(?:role_missing|resource_not_found)$/);
        const mayBeTold = roles.some((role) => caller.roles.has(role)) && id !== 'grantAccess';
        if (!mayBeTold) expect(code, `${id} by ${who}`).toBe('role_missing');
      }
      expect(await writesSince(position)).toEqual([]);
      // The promoter decides before staff do.
      const [, may] =
        [...callers]
          .toReversed()
          .find(
            ([who, { roles: held }]) =>
              roles.some((role) => held.has(role)) &&
              who !== 'owner of rival' &&
              (who !== 'owner of acme' || !OF_STAFF.has(id)),
          ) ?? [];
      if (!may || id === 'grantAccess') return;
      const { code } = await perform(id, may, { ...input, idempotency_key: freshKey() });
      expect(code, `${id} by somebody with the role`).toBe('ok');
    });
  },
);

describe.each(others.filter(({ kind }) => kind === 'query'))(
  'The desk operation $id about the records of a promoter',
  (operation) => {
    it('People of another promoter and of other roles see nothing, and those with the role see it', async () => {
      const { id, roles, input, examples } = operation;
      const named = Object.keys(input.shape).filter((field) => field in records);
      const optional = named.filter((field) => operation.http.path.includes(`{${field}}`));
      const wanted = named.filter((field) => field === 'owner_id' || optional.includes(field));
      const example = examples[0]?.input;
      const asked: Record<string, unknown> = {
        ...(operation.http.path.startsWith('/audit') && example),
        ...Object.fromEntries(wanted.map((field) => [field, records[field]])),
        ...(id === 'searchDesk' && { text: records['lead_id'] }),
        ...(id === 'auditReplay' && { request_id: read_request }),
        ...(id === 'readEvents' && { stream: `acme-agent_${records['agent_id']?.slice(4)}` }),
      };
      if (id === 'readEvents') delete asked['owner_id'];
      const refused = new Map(refusedBy(operation));
      for (const [who, caller] of callers) {
        const { code, value } = await perform(id, caller, asked);
        if (!refused.has(who)) {
          expect(code, `${id} by ${who}`).toBe('ok');
          continue;
        }
        const hasRole = roles.some((role) => caller.roles.has(role));
        if (!hasRole) expect(code, `${id} by ${who}`).toBe('role_missing');
        const { data = [] } = (value ?? {}) as { data?: unknown[] };
        if (code === 'ok') expect(data, `${id} by ${who}`).toEqual([]);
        else expect(code, `${id} by ${who}`).toMatch(/^(?:role_missing|resource_not_found)$/);
      }
    });
  },
);
