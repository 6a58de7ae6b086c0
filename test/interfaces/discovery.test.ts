import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BOUNDARIES } from '#contracts/boundaries.ts';
import { agentOperations, operations } from '#contracts/registries/agents.ts';
import { toolName } from '#contracts/places.ts';
import { SKILLS } from '#contracts/tasks/skills.ts';
import { VERSIONING } from '#contracts/headers.ts';
import { DOC_PAGES } from '#src/interfaces/documents/docs.ts';
import { readFileSync } from 'node:fs';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv';
import { testApp, type TestApp } from '../support/world/app.ts';
import { INSTRUCTIONS } from '#src/interfaces/mcp/wire.ts';
import { verifies } from '../support/source/verifies.ts';

const ORIGIN = 'https://t.example';

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.close());

const get = (url: string, headers: Record<string, string> = {}) =>
  app.send({ method: 'GET', url, headers });
const here = (url: string): string => url.slice(ORIGIN.length) || '/';

describe('llms.txt', () => {
  it('`llms.txt` names every use case, states the boundaries, and has the form of llmstxt.org', async () => {
    verifies('service.7', 'service.8.llms', 'endpoints.rules.9');
    const { text, headers } = await get('/llms.txt');
    expect(headers['content-type']).toContain('text/plain');
    expect((await get('/api/affiliate/llms.txt')).text).toBe(text);
    for (const { id } of Object.values(operations)) expect(text).toContain(`\`${id}\``);
    for (const operation of Object.values(agentOperations))
      expect(text).toContain(`\`${toolName(operation)}\``);
    for (const id of Object.keys(SKILLS)) expect(text).toContain(`\`${id}\``);
    for (const { statement } of BOUNDARIES) expect(text).toContain(statement);
    // llmstxt.org: one H1, a quote, then sections that contain only links.
    const [head = '', ...sections] = text.split(/^## /m);
    expect(head).toMatch(/^# Tributary\n\n> /);
    for (const section of sections) {
      const [, ...lines] = section.trim().split('\n');
      const odd = lines.filter((line) => line !== '' && !/^- \[[^\]]+\]\(https:[^)]+\)/.test(line));
      expect(odd).toEqual([]);
    }
  });

  it('`llms.txt` and the instructions of MCP have at most 60 lines together, and say how to recover a lost context', async () => {
    const { text } = await get('/llms.txt');
    expect((text + INSTRUCTIONS).split('\n').length).toBeLessThanOrEqual(60);
    for (const guide of [text, INSTRUCTIONS]) {
      const recovery = /After a lost context[^\n]*/.exec(guide)?.[0] ?? '';
      for (const tool of ['list_records', 'list_changes']) expect(recovery).toContain(tool);
      expect(recovery).toMatch(/key/);
    }
  });

  it('`llms.txt` links only to pages that exist', async () => {
    const { text } = await get('/llms.txt');
    const links = new Set([...text.matchAll(/\]\((https:[^)]+)\)/g)].map(([, url = '']) => url));
    for (const url of links) expect((await get(here(url))).status, url).toBe(200);
  });
});

describe('The versioning policy', () => {
  it('The versioning policy is stated in the documentation and in llms.txt', async () => {
    verifies('versioning.4');
    const { text } = await get('/docs/rest.md');
    for (const statement of VERSIONING) expect(text).toContain(statement);
    expect((await get('/llms.txt')).text).toMatch(/at least 12 months[^\n]+\/docs\/rest\.md/);
  });
});

describe('The API catalog', () => {
  it('The API catalog names each interface with its description, documentation and status', async () => {
    const { body, headers } = await get('/.well-known/api-catalog');
    expect(headers['content-type']).toContain('application/linkset+json');
    const head = await app.send({ method: 'HEAD', url: '/.well-known/api-catalog' });
    expect(head.headers['link']).toBe(`<${ORIGIN}/.well-known/api-catalog>; rel="api-catalog"`);
    type Target = { href: string; type?: string };
    const { linkset } = body as { linkset: (Record<string, Target[]> & { anchor: string })[] };
    expect(linkset.map(({ anchor }) => here(anchor))).toEqual([
      '/api/affiliate/v1',
      '/api/affiliate/mcp',
      '/api/affiliate/a2a',
    ]);
    const targets = linkset.flatMap(({ anchor: _anchor, ...relations }) =>
      Object.values(relations).flat(),
    );
    for (const { href, type } of targets) {
      const answer = await get(here(href));
      expect(answer.status, href).toBe(200);
      if (type !== undefined) expect(answer.headers['content-type'], href).toContain(type);
    }
  });
});

describe('The AI catalog', () => {
  it('The AI catalog names the server card of MCP and the agent card of A2A by the media types that they have', async () => {
    const { body, headers } = await get('/.well-known/ai-catalog.json');
    expect(headers['content-type']).toBe('application/ai-catalog+json');
    expect(headers['access-control-allow-origin']).toBe('*');
    const { specVersion, entries } = body as {
      specVersion: string;
      entries: { identifier: string; type: string; mediaType: string; url: string }[];
    };
    expect(specVersion).toBe('1.0');
    expect(entries.map(({ identifier }) => identifier)).toEqual([
      'urn:air:t.example:mcp:tributary',
      'urn:air:t.example:a2a:tributary',
    ]);
    for (const { type, mediaType, url } of entries) {
      expect(mediaType).toBe(type);
      expect((await get(here(url))).status).toBe(200);
    }
  });
});

describe('The server card', () => {
  it('The server card is valid by the official schema', async () => {
    const file = new URL('../golden/mcp/server-card.schema.json', import.meta.url);
    const { $defs } = JSON.parse(readFileSync(file, 'utf8')) as { $defs: object };
    const validate = new AjvJsonSchemaValidator().getValidator({
      $defs,
      $ref: '#/$defs/ServerCard',
    } as never);
    const { body } = await get('/api/affiliate/mcp/server-card');
    expect(validate(body)).toMatchObject({ valid: true });
    const { description } = body as { description: string };
    expect(validate({ ...(body as object), description: description.padEnd(101) }).valid).toBe(
      false,
    );
  });
});

describe('A public document', () => {
  const DOCUMENTS = [
    '/',
    '/docs',
    '/docs/rest',
    '/docs/rest.md',
    '/problems',
    '/problems/rate_limited',
    '/problems/rate_limited.md',
    '/llms.txt',
    '/boundaries.json',
    '/api/affiliate/openapi.json',
    '/api/affiliate/mcp/status',
    '/api/affiliate/mcp/server-card',
    '/.well-known/agent-card.json',
    '/.well-known/jwks.json',
    '/.well-known/api-catalog',
    '/.well-known/ai-catalog.json',
  ];

  it.each(DOCUMENTS)(
    'A public document is not sent again to a client that has it: %s',
    async (url) => {
      const { status, headers } = await get(url);
      expect([status, headers['cache-control']]).toEqual([200, 'public, max-age=60']);
      const cached = await get(url, { 'if-none-match': headers['etag'] ?? '' });
      expect([cached.status, cached.text]).toEqual([304, '']);
      expect((await get(url, { 'if-none-match': '"other"' })).status).toBe(200);
    },
  );

  it.each([...DOCUMENTS, '/.well-known/mcp.json', '/assets/mark.svg'])(
    'A public document can be read by pages of every origin: %s',
    async (url) => {
      const { headers } = await get(url, { origin: 'https://other.example' });
      expect(headers['access-control-allow-origin']).toBe('*');
      const cached = await get(url, { 'if-none-match': headers['etag'] ?? '' });
      expect([cached.status, cached.headers['access-control-allow-origin']]).toEqual([304, '*']);
    },
  );

  it('The agent card is found under its former path', async () => {
    const { status, headers } = await get('/.well-known/agent.json');
    expect([status, headers['location'], headers['access-control-allow-origin']]).toEqual([
      301,
      '/.well-known/agent-card.json',
      '*',
    ]);
  });

  it.each([
    '/docs/rest',
    '/problems',
    '/api/affiliate/openapi.json',
    '/.well-known/agent-card.json',
  ])('A public document is compressed for clients that accept it: %s', async (url) => {
    const { text } = await get(url);
    for (const [encoding, open] of [
      ['br', brotliDecompressSync],
      ['gzip', gunzipSync],
    ] as const) {
      const answer = await app.service.server.inject({
        method: 'GET',
        url,
        headers: { 'accept-encoding': encoding },
      });
      expect(answer.headers['content-encoding']).toBe(encoding);
      expect(String(answer.headers['vary'])).toMatch(/accept-encoding/i);
      expect(open(answer.rawPayload).toString()).toBe(text);
    }
  });

  it('A public document leads from the start page and from unknown paths to the API catalog', async () => {
    const link = `<${ORIGIN}/.well-known/api-catalog>; rel="api-catalog"`;
    expect((await get('/')).headers['link']).toBe(link);
    const unknown = await get('/api/affiliate/v1/nothing');
    expect([unknown.status, unknown.headers['link']?.endsWith(link)]).toEqual([404, true]);
  });
});

describe('The OpenAPI document', () => {
  it('The OpenAPI document names a contact, and its components with at most 40 characters', async () => {
    const { body } = await get('/api/affiliate/openapi.json');
    const { info, components } = body as {
      info: { contact: { url: string } };
      components: Record<string, Record<string, object>>;
    };
    expect(info.contact.url).toBe(`${ORIGIN}/`);
    const names = Object.values(components).flatMap((kind) => Object.keys(kind));
    expect(names.length).toBeGreaterThan(20);
    expect(names.filter((name) => name.length > 40)).toEqual([]);
  });
});

describe('The documentation', () => {
  it('The documentation exists as HTML and as the same text in Markdown', async () => {
    for (const { slug, title } of DOC_PAGES) {
      const page = await get(`/docs/${slug}`);
      // No placeholder of the published page is left.
      expect(page.text).not.toMatch(/origin\.invalid|999999/);
      expect(page.headers['content-type'], slug).toContain('text/html');
      expect(page.text).toContain(`<title>${title} · Tributary</title>`);
      const markdown = await get(`/docs/${slug}.md`);
      expect(markdown.headers['content-type'], slug).toContain('text/markdown');
      expect(markdown.text).toMatch(/^# /);
      expect((await get(`/docs/${slug}`, { accept: 'text/markdown' })).text).toBe(markdown.text);
    }
    const { text } = await get('/docs');
    for (const { slug } of DOC_PAGES) expect(text).toContain(`href="/docs/${slug}"`);
    expect((await get('/docs/nothing')).status).toBe(404);
  });

  it('The documentation says why a key has no place in a browser, and no page of another site may read an answer to one', async () => {
    for (const path of ['/docs', '/docs/rest.md'])
      expect((await get(path)).text).toContain('A key has no place in a browser');
    const { key } = await app.agent('acme');
    for (const url of ['/api/affiliate/v1/connection', '/api/desk/v1/agents', '/livez']) {
      const { headers } = await app.send({
        method: 'GET',
        url,
        key,
        headers: { origin: 'https://other.example' },
      });
      expect([url, headers['access-control-allow-origin']]).toEqual([url, undefined]);
    }
  });

  it('The documentation says how a CSV file is opened in Excel', async () => {
    expect((await get('/docs/rest.md')).text).toMatch(/`excel` \| query \|.*byte-order mark/);
  });

  it('The documentation shows where each field is sent over REST, including nested fields', async () => {
    const { text } = await get('/docs/rest.md');
    const row = (path: string, place: string) =>
      expect(text).toMatch(
        new RegExp(`^\\| \`${path.replaceAll(/[[\].]/g, '\\$&')}\` \\| ${place} \\|`, 'm'),
      );
    row('Idempotency-Key', 'header');
    row('Consistency-Token', 'header');
    row('at_quantity', 'query');
    for (const path of ['target.kind', 'line_items[].sku', 'buyer.email', 'source.ref'])
      row(path, 'body');
    for (const path of ['contact.email', 'consent.basis', 'interest.product_ids', 'utm.source'])
      row(path, 'body');
    expect(text).not.toContain('idempotency_key`');
    expect(text).not.toContain('"idempotency_key"');
  });

  it('The documentation links only to pages that exist', async () => {
    const pages = await Promise.all(DOC_PAGES.map(({ slug }) => get(`/docs/${slug}.md`)));
    const links = new Set(
      pages.flatMap(({ text }) =>
        [...text.matchAll(/\]\((https:\/\/t\.example[^)]*)\)/g)].map(([, url = '']) => url),
      ),
    );
    expect(links.size).toBeGreaterThan(20);
    for (const url of links) expect((await get(here(url))).status, url).toBe(200);
  });
});
