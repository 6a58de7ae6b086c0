/** Clients that generators make of the OpenAPI document: each calls all seven operations. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operations } from '#contracts/registries/agents.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { ROOT } from '../support/source/tree.ts';
import { framework, FRAMEWORKS, hasFrameworks } from './packages.ts';

const run = promisify(execFile);

let app: TestApp;
let origin: string;
let headers: Record<string, string>;
// Below the repository, so that the generated TypeScript is transformed like other modules.
let directory: string;
beforeAll(async () => {
  app = await testApp({ PUBLIC_URL: '' });
  await app.publish([feedProduct('MUG-1')]);
  const { key } = await app.agent('acme');
  origin = await app.service.listen();
  headers = { Authorization: `Bearer ${key}` };
  mkdirSync(join(ROOT, 'build'), { recursive: true });
  directory = mkdtempSync(join(ROOT, 'build/clients-'));
  // Where a generated client finds axios.
  symlinkSync(join(FRAMEWORKS, 'node_modules'), join(directory, 'node_modules'));
  const contract = await fetch(`${origin}/api/affiliate/openapi.json`);
  writeFileSync(join(directory, 'openapi.json'), await contract.text());
});
afterAll(async () => {
  await app.close();
  rmSync(directory, { recursive: true, force: true });
});

const generate = (command: string, ...args: string[]) =>
  run(join(FRAMEWORKS, 'node_modules/.bin', command), args, { cwd: directory });

const load = async <Module>(file: string): Promise<Module> =>
  (await import(/* @vite-ignore */ join(directory, file))) as Module;

const LINK = { target: { kind: 'product', ref: 'MUG-1' } };
const HANDOFF = { title: 'Mugs', line_items: [{ sku: 'MUG-1', quantity: 4 }] };
const lead = () => ({ external_id: freshKey(), company: { name: 'Shop', country: 'GB' } });

/** A call of each operation: its query, or its body. */
const CALLS: Record<keyof typeof operations, { query?: object; body?: () => object }> = {
  getConnection: {},
  searchProducts: { query: { q: 'mug', facets: ['category', 'stock'] } },
  createLink: { body: () => LINK },
  createHandoff: { body: () => HANDOFF },
  listLeads: { query: { limit: 5 } },
  submitLead: { body: lead },
  getPerformance: { query: { granularity: 'week', group_by: ['campaign', 'channel'] } },
};

/** The member that shows that an answer is the operation's JSON. */
const MEMBER: Record<keyof typeof operations, string> = {
  getConnection: 'granted_scopes',
  searchProducts: 'facets',
  createLink: 'short_url',
  createHandoff: 'review_url',
  listLeads: 'page',
  submitLead: 'state',
  getPerformance: 'totals',
};

type Call = (id: keyof typeof operations) => Promise<unknown>;

const expectAll = async (call: Call): Promise<void> => {
  for (const id of Object.keys(operations) as (keyof typeof operations)[])
    expect([id, await call(id)]).toEqual([
      id,
      expect.objectContaining({ [MEMBER[id]]: expect.anything() as unknown }),
    ]);
};

describe.skipIf(!hasFrameworks)(
  'All operations (make test-frameworks installs infra/frameworks)',
  () => {
    it.each(['fetch', 'axios-functions'])(
      'All operations can be called by the client that orval generates for %s',
      async (client) => {
        const output = { target: `./${client}.ts`, client, baseUrl: origin };
        writeFileSync(
          join(directory, 'orval.config.mjs'),
          `export default ${JSON.stringify({ t: { input: './openapi.json', output } })};`,
        );
        await generate('orval', '--config', 'orval.config.mjs');
        rmSync(join(directory, 'orval.config.mjs'));
        type Made = Record<string, (...args: unknown[]) => Promise<{ data: unknown }>>;
        const made = await load<Made>(`${client}.ts`);
        await expectAll(async (id) => {
          const { query, body } = CALLS[id];
          const own = { headers: { ...headers, ...(body && { 'Idempotency-Key': freshKey() }) } };
          const args = body ? [body(), own] : query ? [query, own] : [own];
          return (await made[id]?.(...args))?.data;
        });
      },
    );

    it('All operations can be called by the client that hey-api generates', async () => {
      await generate(
        'openapi-ts',
        '-i',
        'openapi.json',
        '-o',
        'hey',
        '-c',
        '@hey-api/client-fetch',
      );
      type Made = Record<string, (options: object) => Promise<{ data: unknown }>>;
      const made = await load<Made>('hey/sdk.gen.ts');
      await expectAll(async (id) => {
        const { query, body } = CALLS[id];
        const sent = body && { body: body(), headers: { 'Idempotency-Key': freshKey() } };
        const auth = headers['Authorization']?.slice('Bearer '.length);
        const options = { baseUrl: origin, auth: () => auth, query, ...sent };
        return (await made[id]?.(options))?.data;
      });
    });

    it('All operations can be called by openapi-fetch with the types of openapi-typescript', async () => {
      await generate('openapi-typescript', 'openapi.json', '-o', 'types.d.ts');
      type Client = Record<string, (path: string, options: object) => Promise<{ data?: unknown }>>;
      const { default: createClient } = await framework<{ default(options: object): Client }>(
        'openapi-fetch',
      );
      const querySerializer = { array: { style: 'form', explode: false } };
      const client = createClient({ baseUrl: origin, headers, querySerializer });
      await expectAll(async (id) => {
        const { query, body } = CALLS[id];
        const { method, path } = operations[id].http;
        const header = body && { 'Idempotency-Key': freshKey() };
        const options = { params: { query, header }, ...(body && { body: body() }) };
        return (await client[method]?.(`/api/affiliate/v1${path}`, options))?.data;
      });
    });
  },
);
