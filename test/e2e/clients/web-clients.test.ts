/** Pages of other origins that call MCP from a real browser, as the official client does. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasChromium, IN_CHROMIUM, launchChromium } from '../../support/clients/browser.ts';
import { MCP } from '../../support/clients/mcp.ts';
import { testApp, type TestApp } from '../../support/world/app.ts';
import { endReceivers, receiver } from '../../support/world/receivers.ts';

let app: TestApp;
let browser: Browser;
let endpoint: string;
let key: string;
let named: string;
let other: string;

/** A server of its own port, and so of another origin, with an empty page. */
const pageServer = async (): Promise<string> => {
  const { host } = await receiver({
    answer: (_received, response) => {
      response
        .writeHead(200, { 'content-type': 'text/html' })
        .end('<!doctype html><title>t</title>');
    },
  });
  return `http://${host}`;
};

beforeAll(async () => {
  if (!hasChromium) return;
  [named, other] = await Promise.all([pageServer(), pageServer()]);
  // Its public name makes a page of the same machine one of another site.
  app = await testApp({ ORIGINS: named });
  const [origin, opened] = await Promise.all([app.service.listen(), launchChromium()]);
  [endpoint, browser] = [origin + MCP, opened];
  ({ key } = await app.agent('acme'));
});
afterAll(async () => {
  await browser?.close();
  await app?.close();
  await endReceivers();
});

/** Connects from a page of the origin and calls a tool; the texts of the answers, or the error that the page sees. */
const connectFrom = async (origin: string): Promise<string[]> => {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await page.goto(`${origin}/`);
    return await page.evaluate(
      async ([url, bearer]) => {
        const VERSION = '2025-11-25';
        const send = async (body: object, headers: Record<string, string>): Promise<string> => {
          const response = await fetch(url, {
            method: 'POST',
            headers: {
              authorization: `Bearer ${bearer}`,
              'content-type': 'application/json',
              accept: 'application/json, text/event-stream',
              ...headers,
            },
            body: JSON.stringify({ jsonrpc: '2.0', ...body }),
          });
          return `${response.status} ${await response.text()}`;
        };
        const clientInfo = { name: 'page', version: '1' };
        const params = { protocolVersion: VERSION, capabilities: {}, clientInfo };
        const known = { 'mcp-protocol-version': VERSION };
        const call = { name: 'get_connection', arguments: {} };
        try {
          return [
            await send({ id: 0, method: 'initialize', params }, {}),
            await send({ method: 'notifications/initialized' }, known),
            await send({ id: 1, method: 'tools/call', params: call }, known),
          ];
        } catch (error) {
          return [String(error)];
        }
      },
      [endpoint, key] as const,
    );
  } finally {
    await context.close();
  }
};

describe.skipIf(!hasChromium)(`A page of another origin ${IN_CHROMIUM}`, () => {
  it('A page of an origin that ORIGINS names connects to MCP and calls a tool', async () => {
    const [connected, noted, called] = await connectFrom(named);
    expect(connected).toMatch(/^200 .*"protocolVersion":"2025-11-25"/);
    expect(noted).toMatch(/^202 /);
    expect(called).toMatch(/^200 .*"structuredContent"/);
    expect(called).not.toContain('"isError":true');
  });

  it('A page of an origin that ORIGINS does not name cannot connect to MCP', async () => {
    expect(await connectFrom(other)).toEqual(['TypeError: Failed to fetch']);
  });
});
