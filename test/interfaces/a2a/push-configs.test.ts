/** Registrations of receivers, through the pipeline. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import type { AgentCaller } from '#src/shared/call.ts';
import { HANDOFF, a2aApp, message, POST, sent, type WireTask } from '../../support/clients/a2a.ts';
import type { TestApp } from '../../support/world/app.ts';

const URL_ = 'https://hook.example/in';
const SECRETS = {
  token: 'token-of-the-receiver',
  authentication: { scheme: 'Bearer', credentials: 'credentials-of-the-receiver' },
};

let app: TestApp;
let caller: AgentCaller;
let key: string;
beforeAll(async () => {
  app = await a2aApp();
  ({ key, caller } = await agent());
});
afterAll(() => app.close());

const agent = async (owner = 'acme'): Promise<{ key: string; caller: AgentCaller }> => {
  const { key: made, agentId, keyId } = await app.agent(owner);
  const environment = 'live' as const;
  return {
    key: made,
    caller: { kind: 'agent', ownerId: owner, agentId, keyId, scopes: new Set(), environment },
  };
};

type Operation = `${'create' | 'get' | 'delete'}PushConfig` | 'listPushConfigs';
type Answer = { ok: boolean; code?: string; value?: unknown; position?: number; errors?: object[] };

const perform = (
  operation: Operation,
  input: Record<string, unknown>,
  by: AgentCaller = caller,
): Promise<Answer> =>
  app.service.app.tasks.performAs(operation, {
    caller: by,
    surface: 'a2a',
    requestId: app.service.deps.ids.uuid(),
    input: operation === 'listPushConfigs' ? { pageSize: 50, ...input } : input,
  });

const task = (by = key): Promise<WireTask> => sent(app, by, message(POST));

const eventsOf = async (type: string) => {
  const events = await app.service.deps.log.readOwner('acme', { after: 0, limit: 10_000 });
  return events.filter((event) => event.type === type);
};

const lastCreated = async () => {
  const event = (await eventsOf('PushConfigCreated')).at(-1);
  if (!event) throw new Error('nothing is registered');
  return { ...event, data: event.data as Partial<Record<string, string>> };
};

describe('A registration', () => {
  it('A push registration is shown without its secrets, which the log holds only in sealed form', async () => {
    const { id: taskId } = await task();
    const shown = { taskId, id: 'mine', url: URL_, authentication: { scheme: 'Bearer' } };
    const made = await perform('createPushConfig', { taskId, id: 'mine', url: URL_, ...SECRETS });
    expect(made).toMatchObject({ ok: true, value: shown });
    expect(made.value).toEqual(shown);
    expect((await perform('getPushConfig', { taskId, id: 'mine' })).value).toEqual(shown);
    expect((await perform('listPushConfigs', { taskId })).value).toEqual({
      configs: [shown],
      nextPageToken: '',
    });
    const event = await lastCreated();
    const { sealed_token, sealed_credentials } = event.data;
    const { vault } = app.service.deps;
    expect(await vault.unseal([sealed_token ?? '', sealed_credentials ?? ''])).toEqual([
      SECRETS.token,
      SECRETS.authentication.credentials,
    ]);
    expect(JSON.stringify(event)).not.toMatch(/-of-the-receiver/);
  });

  it('A repeated push registration appends nothing, and one with other secrets replaces it', async () => {
    const { id: taskId } = await task();
    const input = { taskId, url: URL_, ...SECRETS };
    const { value } = await perform('createPushConfig', input);
    const again = await perform('createPushConfig', input);
    expect(again.value).toEqual(value);
    expect(again.position).toBeUndefined();
    const { sealed_for: before = '' } = (await lastCreated()).data;
    const replaced = await perform('createPushConfig', { ...input, token: 'another' });
    expect(replaced.value).toEqual(value);
    expect(replaced.position).toBeGreaterThan(0);
    expect(await app.service.deps.vault.knows(before)).toBe('destroyed');
    expect((await perform('listPushConfigs', { taskId })).value).toMatchObject({
      configs: [value],
    });
  });

  it('A push registration is refused for a URL to which nothing would be sent, with the reason', async () => {
    const { id: taskId } = await task();
    for (const [url, code] of [
      ['http://hook.example/', 'scheme_not_allowed'],
      ['https://user:secret@hook.example/', 'url_has_userinfo'],
      ['https://127.0.0.1/', 'address_not_public'],
      ['https://[::1]/', 'address_not_public'],
      ['https://169.254.169.254/latest', 'address_not_public'],
      ['https://localhost/', 'address_not_public'],
      ['file:///etc/passwd', 'scheme_not_allowed'],
      ['hook', 'url_invalid'],
    ])
      expect(await perform('createPushConfig', { taskId, url })).toMatchObject({
        code: 'validation_failed',
        errors: [{ pointer: '/url', code }],
      });
  });

  it('A push registration is refused for secrets that no header can hold, and for schemes with a challenge', async () => {
    const { id: taskId } = await task();
    for (const [input, pointer] of [
      [{ token: 'a\r\nx-injected: 1' }, '/token'],
      [{ token: '' }, '/token'],
      [{ authentication: { scheme: 'Digest', credentials: 'x' } }, '/authentication/scheme'],
      [{ authentication: { scheme: 'Basic', credentials: 'a\n' } }, '/authentication/credentials'],
      [{ id: 'a/b' }, '/id'],
    ] as const)
      expect(await perform('createPushConfig', { taskId, url: URL_, ...input })).toMatchObject({
        code: 'validation_failed',
        errors: [{ pointer }],
      });
  });

  it('A push registration is refused beyond the limit of its task, until another one is deleted', async () => {
    const { id: taskId } = await task();
    const create = (n: number) => perform('createPushConfig', { taskId, id: `c${n}`, url: URL_ });
    for (let n = 1; n <= LIMITS.PUSH_CONFIGS_PER_TASK_MAX; n += 1)
      expect((await create(n)).ok).toBe(true);
    expect(await create(0)).toMatchObject({ code: 'state_conflict' });
    expect((await create(1)).ok).toBe(true);
    expect((await perform('deletePushConfig', { taskId, id: 'c1' })).ok).toBe(true);
    expect((await create(0)).ok).toBe(true);
    const ids: string[] = [];
    for (let pageToken: string | undefined = undefined; ; ) {
      const page: { configs: { id: string }[]; nextPageToken: string } = (
        await perform('listPushConfigs', { taskId, pageSize: 4, ...(pageToken && { pageToken }) })
      ).value as never;
      ids.push(...page.configs.map(({ id }) => id));
      if (page.nextPageToken === '') break;
      pageToken = page.nextPageToken;
    }
    const all = Array.from({ length: LIMITS.PUSH_CONFIGS_PER_TASK_MAX - 1 }, (_, n) => `c${n + 2}`);
    expect(ids.toSorted()).toEqual(['c0', ...all].toSorted());
  });
});

describe('A deletion', () => {
  it("A push registration's deletion destroys the key of the secrets, and can be repeated", async () => {
    const { id: taskId } = await task();
    await perform('createPushConfig', { taskId, id: 'mine', url: URL_, ...SECRETS });
    const { sealed_for = '' } = (await lastCreated()).data;
    for (let n = 1; n <= 2; n += 1)
      expect(await perform('deletePushConfig', { taskId, id: 'mine' })).toMatchObject({
        ok: true,
        value: {},
      });
    expect(await app.service.deps.vault.knows(sealed_for)).toBe('destroyed');
    expect(await perform('getPushConfig', { taskId, id: 'mine' })).toMatchObject({
      code: 'resource_not_found',
    });
    const again = { taskId, id: 'mine', url: URL_, ...SECRETS };
    expect((await perform('createPushConfig', again)).ok).toBe(true);
  });
});

describe('Another agent', () => {
  it.each(['acme', 'other'])(
    'Another agent of %s finds neither the task nor its push registration',
    async (owner) => {
      const { id: taskId } = await task();
      await perform('createPushConfig', { taskId, id: 'mine', url: URL_ });
      const { caller: stranger } = await agent(owner);
      const input = { taskId, id: 'mine' };
      for (const [operation, given] of [
        ['createPushConfig', { ...input, url: URL_ }],
        ['getPushConfig', input],
        ['listPushConfigs', { taskId }],
        ['deletePushConfig', input],
      ] as const)
        expect(await perform(operation, given, stranger)).toMatchObject({
          code: 'resource_not_found',
        });
      expect((await perform('getPushConfig', input)).ok).toBe(true);
    },
  );
});

describe('A message with a registration', () => {
  const send = (messageId: string, data: object, push: object) => {
    const { deps, app: service } = app.service;
    const incoming = { caller, surface: 'a2a' as const, requestId: deps.ids.uuid() };
    const scoped = { ...caller, scopes: new Set(['handoffs:write', 'social:write']) };
    const input = { messageId, data, otherParts: '', push };
    return service.tasks.performAs('sendMessage', { ...incoming, caller: scoped, input });
  };

  it("A message registers a receiver for the task that it makes, once for all retries, even after the registration's deletion", async () => {
    const made = await send('m-1', HANDOFF, { id: 'mine', url: URL_, ...SECRETS });
    if (!made.ok) throw new Error(made.detail);
    const { id: taskId } = made.value;
    const created = await lastCreated();
    expect(created.data).toMatchObject({ task: taskId, config_id: 'mine', after: 0 });
    const replay = await send('m-1', HANDOFF, { id: 'mine', url: URL_, token: 'other' });
    expect(replay).toMatchObject({ ok: true, value: { id: taskId } });
    await perform('deletePushConfig', { taskId, id: 'mine' });
    await send('m-1', HANDOFF, { id: 'mine', url: URL_, ...SECRETS });
    expect(await lastCreated()).toEqual(created);
  });

  it('A message with a bad push registration is refused before it has any effect', async () => {
    const before = (await eventsOf('HandoffCreated')).length;
    expect(await send('m-2', HANDOFF, { url: 'https://10.0.0.1/' })).toMatchObject({
      code: 'validation_failed',
      errors: [
        { pointer: '/configuration/taskPushNotificationConfig/url', code: 'address_not_public' },
      ],
    });
    expect(await eventsOf('HandoffCreated')).toHaveLength(before);
    expect((await send('m-2', HANDOFF, { url: URL_ })).ok).toBe(true);
  });
});
