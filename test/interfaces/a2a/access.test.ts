import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCOPE_NAMES } from '#contracts/scopes.ts';
import { freshKey, type TestApp } from '../../support/world/app.ts';
import {
  a2aApp,
  activityOf,
  BASE,
  detailOf,
  errorOf,
  HANDOFF,
  message,
  POST,
  rpc,
  sent,
  VERSION,
} from '../../support/clients/a2a.ts';
import type { WireTask } from '../../support/clients/a2a.ts';

let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await a2aApp();
  ({ key } = await app.agent('acme'));
});
afterAll(() => app.close());

const http = (
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  payload?: object,
  headers: Record<string, string> = {},
  by: string | undefined = key,
) =>
  app.send({
    method,
    url: BASE + path,
    key: by,
    headers: { ...VERSION, ...headers },
    ...(payload && { payload }),
  });

describe('An A2A skill', () => {
  it.each([
    ['prepare_handoff', HANDOFF, 'handoffs:write'],
    ['coordinate_promotion', POST, 'social:write'],
    ['performance_digest', { skill: 'performance_digest' }, 'performance:read'],
    ['attribution_question', { skill: 'attribution_question', position: 1 }, 'performance:read'],
  ])(
    'The A2A skill %s rejects its task without its scope and is audited as denied',
    async (_skill, data, scope) => {
      const less = await app.agent(
        'less',
        SCOPE_NAMES.filter((name) => name !== scope),
      );
      const task = await sent(app, less.key, message(data));
      expect(task.status.state).toBe('TASK_STATE_REJECTED');
      expect(detailOf(task)).toMatchObject({ code: 'scope_missing' });
      const { text } = task.status.message.parts[0];
      expect(text).toMatch(new RegExp(` needs .*${scope}`));
      expect(text).toContain('GET /api/affiliate/v1/connection shows what is granted');
      const denied = (await activityOf(app, 'less')).filter(
        ({ decision }) => decision === 'denied',
      );
      expect(denied.at(-1)).toMatchObject({ surface: 'a2a', code: 'scope_missing' });
    },
  );
});

describe('An A2A task whose agent loses a scope', () => {
  it('An A2A task whose agent loses a scope keeps its status and shows no artifacts that need the scope', async () => {
    const { key: by, agentId } = await app.agent('acme', ['handoffs:write', 'products:read']);
    const task = await sent(app, by, message(HANDOFF));
    const scopes = ['products:read'];
    const request = { owner_id: 'acme', agent_id: agentId, name: 'Test', purpose: 'Tests', scopes };
    const granted = await app.desk('POST', '/access-grants', { ...request, reason: 'Less' });
    expect(granted.status).toBe(201);
    const { result } = await rpc<WireTask>(app, by, 'GetTask', { id: task.id });
    expect(result.status).toEqual(task.status);
    expect(result).not.toHaveProperty('artifacts');
    const listed = await rpc<{ tasks: WireTask[] }>(app, by, 'ListTasks', {
      includeArtifacts: true,
    });
    expect(JSON.stringify(listed.result)).not.toContain('review_url":');
  });
});

describe('The A2A tasks of another agent or another owner', () => {
  it('The A2A tasks of another agent or another owner do not exist for any method of either binding', async () => {
    const mine = await sent(app, key, message(POST));
    const words = await sent(app, key, message('hm'));
    const handoffTask = await sent(app, key, message(HANDOFF));
    for (const owner of ['acme', 'rival']) {
      const other = await app.agent(owner);
      const test = await app.agent(owner, SCOPE_NAMES, 'test');
      for (const by of [other.key, test.key])
        for (const { id } of [mine, words, handoffTask, { id: 'tsk_000000000000000000000000' }]) {
          for (const method of ['GetTask', 'CancelTask', 'SubscribeToTask'])
            expect((await errorOf(app, by, method, { id })).code).toBe(-32001);
          for (const method of ['SendMessage', 'SendStreamingMessage'])
            expect(
              (await errorOf(app, by, method, { message: message(POST, { taskId: id }) })).code,
            ).toBe(-32001);
          const response = await http('GET', `/tasks/${id}`, undefined, {}, by);
          expect(response.status).toBe(404);
          expect((await http('POST', `/tasks/${id}:cancel`, undefined, {}, by)).status).toBe(404);
          expect((await http('GET', `/tasks/${id}:subscribe`, undefined, {}, by)).status).toBe(404);
        }
      const { result } = await rpc<{ tasks: []; totalSize: number }>(app, other.key, 'ListTasks', {
        contextId: mine.contextId,
      });
      expect(result).toMatchObject({ tasks: [], totalSize: 0 });
    }
  });
});

describe('The audit log', () => {
  it('The audit log contains each A2A call once, under the id of its operation', async () => {
    const { key: by, agentId } = await app.agent('audit');
    const repeated = message(HANDOFF);
    const created = await sent(app, by, repeated);
    await sent(app, by, repeated);
    await sent(app, by, message('words'));
    await sent(app, by, message({ skill: 'performance_digest' }));
    await sent(app, by, message({ skill: 'place_order' }));
    await errorOf(app, by, 'SubmitRfq', {});
    await errorOf(app, by, 'Nonsense', {});
    await rpc(app, by, 'GetTask', { id: created.id });
    await rpc(app, by, 'GetTask', { id: freshKey() });
    await rpc(app, by, 'ListTasks', {});
    await rpc(app, by, 'ListTasks', { pageSize: 0 });
    await rpc(app, by, 'CancelTask', { id: created.id });
    await rpc(app, by, 'GetExtendedAgentCard', {});
    const seen = (await activityOf(app, 'audit')).map(
      ({ surface, operation, decision, code = '-', count }) =>
        [surface, operation, decision, code, count].join(' '),
    );
    expect(seen.sort()).toEqual(
      [
        'a2a createHandoff replayed - 1',
        'a2a a2a:SendMessage allowed - 1',
        'a2a getPerformance allowed - 1',
        'a2a a2a:SendMessage denied boundary_forbidden 1',
        'a2a boundary:submit_rfq denied boundary_forbidden 1',
        'a2a a2a:JSONRPC refused route_not_found 1',
        'a2a a2a:GetTask allowed - 1',
        'a2a a2a:GetTask refused resource_not_found 1',
        'a2a a2a:ListTasks allowed - 1',
        'a2a a2a:ListTasks refused parameter_invalid 1',
        'a2a a2a:CancelTask refused state_conflict 1',
        'a2a a2a:GetExtendedAgentCard allowed - 1',
      ].sort(),
    );
    const written = await app.service.deps.log.readOwner('audit', { after: 0, limit: 1_000 });
    const handoffEvents = written.filter(
      ({ type, meta }) => type === 'HandoffCreated' && meta.actor === agentId,
    );
    expect(handoffEvents).toHaveLength(1);
  });
});
