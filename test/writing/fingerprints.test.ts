/** What the log has of the inputs of requests: keyed hashes, by which a retry is recognized after each rotation. */
import { afterAll, describe, expect, it } from 'vitest';
import type { EventLog } from '#src/ports/event-log.ts';
import { endLogServers, logServer } from '../support/eventstoredb/log-server.ts';
import { mcpAgent } from '../support/clients/mcp.ts';
import { atDesk } from '../support/world/desk-scenes.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { withNewSecrets } from '../support/world/new-secrets.ts';
import { people, PROOF } from '../support/world/people.ts';

const EMAIL = 'ada@shop.example';
const ROOT_KEY = Buffer.alloc(32, 9).toString('base64');
const LEAD = {
  external_id: 'crm-1',
  company: { name: 'Shop', country: 'GB' },
  contact: { name: 'Ada Lovelace', email: EMAIL },
  consent: { basis: 'consent', obtained_at: '2026-11-19T10:00:00Z' },
};
const HANDOFF = {
  title: 'List',
  buyer: { email: EMAIL },
  line_items: [{ sku: 'MUG-1', quantity: 4 }],
};
const LINKS = { links: [{ target: { kind: 'product', ref: 'MUG-1' }, campaign: 'spring' }] };

/** Requests of an agent, the same each time, with an input that differs in one member at most. */
const requests = (app: TestApp, key: string, over: object = {}) => {
  const send = (path: string, payload: object) =>
    app.send({
      method: 'POST',
      url: `/api/affiliate/v1/${path}`,
      key,
      payload,
      headers: { 'idempotency-key': `the-${path}` },
    });
  return {
    lead: () => send('leads', { ...LEAD, ...over }),
    handoff: () => send('handoffs', { ...HANDOFF, ...over }),
    async links() {
      const input = { idempotency_key: 'the-links', ...LINKS, ...over };
      const { isError = false, content } = await mcpAgent(app, key).call('create_links', input);
      const text = content[0]?.text ?? '';
      return { status: isError ? 400 : 200, text, body: JSON.parse(text) as never };
    },
  };
};
type Name = keyof ReturnType<typeof requests>;
const CHANGED: Record<Name, object> = {
  lead: { contact: { ...LEAD.contact, email: 'eve@shop.example' } },
  handoff: { buyer: { email: 'eve@shop.example' } },
  links: { links: [{ ...LINKS.links[0], campaign: 'other' }] },
};
const NAMES = Object.keys(CHANGED) as Name[];

const eventsOf = (log: EventLog) => log.readAll({ after: 0, limit: 1_000 });

/** Every text in the events that can be a hash of 128 bits or more. */
const hashesIn = async ({ service }: TestApp): Promise<Set<string>> => {
  const text = JSON.stringify(await eventsOf(service.deps.log));
  return new Set(text.match(/(?<![\w-])(?:\d+\.)?(?:[0-9a-f]{32,}|[\w-]{43,})(?![\w-])/g));
};

afterAll(endLogServers);

describe('Fingerprints of requests', () => {
  it('Two services with other root keys store no equal hash for the same requests', async () => {
    const [one, other] = await Promise.all(
      [0, 1].map(async () => {
        const app = await testApp();
        await app.publish([feedProduct('MUG-1')]);
        const { key } = await app.agent('acme');
        for (const name of NAMES) {
          const answer = await requests(app, key)[name]();
          expect(answer.status, answer.text).toBeLessThan(300);
        }
        for (const action of ['find', 'withdraw'])
          expect((await people(app).act(action, EMAIL)).status).toBe(200);
        const hashes = await hashesIn(app);
        const prints = (await eventsOf(app.service.deps.log)).flatMap(({ meta, data }) =>
          [meta.fingerprint, (data as { fingerprint?: string }).fingerprint].filter(
            (print) => print !== undefined,
          ),
        );
        await app.close();
        expect(prints.length).toBeGreaterThan(5);
        for (const print of prints) expect(hashes).toContain(print);
        return hashes;
      }),
    );
    expect([...(one ?? [])].filter((hash) => other?.has(hash))).toEqual([]);
  });

  it('A retry is answered as before, and another input refused, after each kind of rotation', async () => {
    const shared = { EVENT_LOG_URL: (await logServer()).url, ROOT_KEY };
    let app = await testApp(shared);
    await app.publish([feedProduct('MUG-1')]);
    const agent = await app.agent('acme');
    let { key } = agent;
    const issueKey = async (): Promise<string> => {
      const issued = { environment: 'live', expires_in_days: 365 };
      const answer = await app.desk('POST', `/agents/${agent.agentId}/keys`, issued);
      return (answer.body as { api_key: string }).api_key;
    };
    const withdraw = {
      path: '/privacy/withdraw',
      body: { mailbox: 'mute@shop.example', proof: PROOF },
    };
    const withdrawn = await atDesk(app, withdraw, 'the-withdrawal');
    expect(withdrawn.status).toBe(200);
    const first = new Map<Name, { id?: string; data?: unknown }>();
    for (const name of NAMES) first.set(name, (await requests(app, key)[name]()).body);

    const check = async (): Promise<void> => {
      for (const name of NAMES) {
        const { position } = await app.service.deps.log.head();
        const again = await requests(app, key)[name]();
        expect(again.status, again.text).toBeLessThan(300);
        const { id, data } = again.body as { id?: string; data?: unknown };
        expect({ id, data }, name).toEqual({
          id: first.get(name)?.id,
          data: first.get(name)?.data,
        });
        const changed = await requests(app, key, CHANGED[name])[name]();
        expect(changed.body, name).toMatchObject({ code: 'idempotency_key_reused' });
        const events = await app.service.deps.log.readAll({ after: position, limit: 100 });
        expect(
          events.filter(({ type }) => type !== 'ActivityRecorded'),
          name,
        ).toEqual([]);
      }
    };
    await check();

    await app.close();
    const rotated = await withNewSecrets(shared, false);
    app = await testApp(rotated);
    await people(app).caughtUp();
    await check();
    expect(await atDesk(app, withdraw, 'the-withdrawal')).toMatchObject({ body: withdrawn.body });
    const other = { ...withdraw, body: { ...withdraw.body, mailbox: 'eve@shop.example' } };
    expect((await atDesk(app, other, 'the-withdrawal')).body).toMatchObject({
      code: 'idempotency_key_reused',
    });

    await app.close();
    app = await testApp(await withNewSecrets(rotated));
    await people(app).caughtUp();
    key = await issueKey();
    await check();
    await app.close();
  });
});
