import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attributionAnswer, type AttributionAnswer } from '#contracts/tasks/skills.ts';
import { SCOPE_NAMES } from '#contracts/scopes.ts';
import { freshKey, type TestApp } from '../../support/world/app.ts';
import {
  a2aApp,
  artifactOf,
  detailOf,
  errorOf,
  HANDOFF,
  message,
  sent,
} from '../../support/clients/a2a.ts';

let app: TestApp;
let key: string;
let agentId: string;
let link: { id: string; short_url: string };
let handoffId: string;
let leadId: string;
const EMAIL = 'jo@corner.example';

const post = async (path: string, payload: object): Promise<{ id: string; short_url: string }> => {
  const answer = await app.send({
    method: 'POST',
    url: `/api/affiliate/v1${path}`,
    key,
    headers: { 'idempotency-key': freshKey() },
    payload,
  });
  if (answer.status >= 300) throw new Error(answer.text);
  return answer.body;
};
const history = async () => {
  await app.service.deps.audit.flush();
  return app.service.deps.log.readOwner('acme', { after: 0, limit: 10_000 });
};
const visitsOf = async () => (await history()).filter(({ type }) => type === 'VisitRecorded');

beforeAll(async () => {
  app = await a2aApp();
  ({ key, agentId } = await app.agent('acme'));
  link = await post('/links', { target: { kind: 'search', ref: 'mugs' }, campaign: 'autumn' });
  const path = new URL(link.short_url).pathname;
  const person = { 'user-agent': 'Mozilla/5.0 (X11; Linux x64) Firefox/140.0' };
  await app.send({ method: 'GET', url: path, headers: person });
  await app.send({ method: 'GET', url: path, headers: { 'user-agent': 'Googlebot/2.1' } });
  const { skill: _skill, ...fields } = HANDOFF;
  ({ id: handoffId } = await post('/handoffs', {
    ...fields,
    link_id: link.id,
    buyer: { company: 'Corner', email: EMAIL },
  }));
  ({ id: leadId } = await post('/leads', {
    external_id: 'lead-1',
    company: { name: 'Corner', country: 'GB' },
    contact: { name: 'Jo', email: EMAIL },
    consent: { basis: 'consent', obtained_at: '2026-11-20T09:00:00Z' },
    source: { kind: 'handoff', ref: handoffId },
  }));
  while ((await visitsOf()).length < 2) await new Promise((resolve) => setImmediate(resolve));
});
afterAll(() => app.close());

const ask = async (question: object, by = key): Promise<AttributionAnswer> => {
  const task = await sent(app, by, message({ skill: 'attribution_question', ...question }));
  expect(task.status.state).toBe('TASK_STATE_COMPLETED');
  return attributionAnswer.parse(artifactOf(task, 'attribution'));
};
const types = ({ chain }: AttributionAnswer) => chain.map(({ type }) => type);

describe('The A2A skill attribution_question', () => {
  it('The A2A skill attribution_question answers for a lead with the events from its link over its handoff, in log order', async () => {
    for (const question of [{ lead_id: leadId }, { external_id: 'lead-1' }]) {
      const answer = await ask(question);
      expect(answer.subject).toEqual({ kind: 'lead', id: leadId });
      expect(types(answer)).toEqual(expect.arrayContaining(['HandoffCreated', 'LeadSubmitted']));
      expect(answer.statement).toContain(handoffId);
      const positions = answer.chain.map(({ position }) => position);
      expect(positions).toEqual(positions.toSorted((a, b) => a - b));
      const stored = new Map((await history()).map((event) => [event.position, event]));
      for (const { position, type, at } of answer.chain) {
        const event = stored.get(position);
        expect([type, Date.parse(at)]).toEqual([event?.type, event?.meta.at]);
      }
      expect(answer.rule.classifier_version).toBe(app.service.deps.classifierVersion);
    }
  });

  it('The A2A skill attribution_question explains why a handoff counts, and lists the visits and handoffs of a link', async () => {
    const answer = await ask({ handoff_id: handoffId });
    expect(types(answer)).toEqual(['LinkCreated', 'HandoffCreated']);
    expect(answer.statement).toContain(link.id);
    expect(answer.chain[0]?.facts).toMatchObject({
      agent_id: agentId,
      dims: { campaign: 'autumn' },
    });
    const over = await ask({ link_id: link.id });
    expect(types(over).filter((type) => type === 'VisitRecorded')).toHaveLength(2);
    expect(types(over)).toContain('HandoffCreated');
    expect(over.more).toBe(false);
  });

  it('The A2A skill attribution_question answers whether a click counts as valid', async () => {
    const visits = await visitsOf();
    const answers = await Promise.all(visits.map(({ position }) => ask({ position })));
    const valid = answers.filter(({ statement }) => statement.includes('clicks_valid'));
    const raw = answers.filter(({ statement }) => statement.includes('clicks_raw only: bot'));
    expect([valid.length, raw.length]).toEqual([1, 1]);
    for (const one of answers) expect(types(one)).toEqual(['LinkCreated', 'VisitRecorded']);
  });

  it('The A2A skill attribution_question contains no personal data in its answer', async () => {
    const answers = [{ lead_id: leadId }, { handoff_id: handoffId }, { link_id: link.id }];
    for (const question of answers) {
      const text = JSON.stringify(await ask(question));
      for (const secret of [EMAIL, 'Corner', 'Jo"', 'sealed', 'token_hash', 'visitor"'])
        expect(text).not.toContain(secret);
    }
  });

  it('The A2A skill attribution_question finds no record of another owner by id or position, and no audit event', async () => {
    const rival = await app.agent('rival');
    const [first] = await visitsOf();
    for (const question of [
      { link_id: link.id },
      { handoff_id: handoffId },
      { lead_id: leadId },
      { external_id: 'lead-1' },
      { position: first?.position },
      { position: 1 },
      { position: 999_999 },
    ]) {
      const sentMessage = message({ skill: 'attribution_question', ...question });
      const { code, data } = await errorOf(app, rival.key, 'SendMessage', { message: sentMessage });
      expect([code, data[0]?.reason]).toEqual([-32602, 'RESOURCE_NOT_FOUND']);
    }
  });

  it('The A2A skill attribution_question accepts one subject a request, and requires leads:read for a lead', async () => {
    for (const question of [{}, { lead_id: leadId, link_id: link.id }, { position: 0 }]) {
      const sentMessage = message({ skill: 'attribution_question', ...question });
      expect((await errorOf(app, key, 'SendMessage', { message: sentMessage })).code).toBe(-32602);
    }
    const less = await app.agent(
      'acme',
      SCOPE_NAMES.filter((name) => name !== 'leads:read'),
    );
    await ask({ link_id: link.id }, less.key);
    const sentMessage = message({ skill: 'attribution_question', lead_id: leadId });
    const task = await sent(app, less.key, sentMessage);
    expect(detailOf(task)).toMatchObject({ code: 'scope_missing' });
    expect(task.artifacts).toBeUndefined();
  });
});
