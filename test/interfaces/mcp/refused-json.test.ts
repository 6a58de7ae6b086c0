/** MCP messages whose JSON is refused: whether the model or the client gets the error, and under which id. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testApp, type TestApp } from '../../support/world/app.ts';
import { mcpAgent, type McpAgent, modernMeta } from '../../support/clients/mcp.ts';

let app: TestApp;
let agent: McpAgent;

beforeAll(async () => {
  app = await testApp();
  agent = mcpAgent(app, (await app.agent('acme')).key);
});
afterAll(() => app.close());

const codeOf = ({ body, status }: { body: { error?: { code: number } }; status: number }) => [
  status,
  body.error?.code,
];
const calling = (input: string, more = '') =>
  `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search_products",${more}"arguments":${input}}}`;
const META = JSON.stringify(modernMeta());
const MODERN = {
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'search_products',
};

describe('An MCP message', () => {
  it.each([
    ['{"price_max":9007199254740993}', '/price_max', 'number_out_of_range'],
    ['{"q":"a","q":"b"}', '/q', 'duplicate_name'],
    ['{"facets":["\\ud800"]}', '/facets/0', 'lone_surrogate'],
  ])(
    'An MCP message that calls a tool with %s is answered with a tool error that names the place %s',
    async (input, pointer, code) => {
      for (const answer of [
        await agent.raw(calling(input)),
        await agent.raw(calling(input, `"_meta":${META},`), MODERN),
      ]) {
        expect(answer).toMatchObject({ status: 200, body: { id: 7, result: { isError: true } } });
        expect(answer.headers['content-type']).toContain('application/json');
        const problem: unknown = JSON.parse(answer.body.result?.content[0]?.text ?? '');
        expect(problem).toMatchObject({ code: 'malformed_request', errors: [{ pointer, code }] });
      }
    },
  );

  it('An MCP message with refused JSON outside the arguments is an error under its id, if the id is valid', async () => {
    const twice = await agent.raw(calling('{}', '"name":"get_connection",'));
    expect([...codeOf(twice), twice.body.id]).toEqual([400, -32600, 7]);
    expect(twice.body.error?.data['errors']).toMatchObject([{ pointer: '/params/name' }]);
    const large = await agent.raw('{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}');
    expect([...codeOf(large), large.body.id]).toEqual([400, -32600, undefined]);
    const unheard = await agent.raw(calling('{"q":"a","q":"b"}', `"_meta":${META},`));
    expect([...codeOf(unheard), unheard.body.id]).toEqual([400, -32600, 7]);
  });
});
