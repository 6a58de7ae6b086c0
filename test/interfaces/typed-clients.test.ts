/** The OpenAPI documents use only forms for which generators of typed clients have types. */
import { describe, expect, it } from 'vitest';
import { operations } from '#contracts/registries/agents.ts';
import { SCOPE_NAMES } from '#contracts/scopes.ts';
import { deskOperations } from '#contracts/registries/desk.ts';
import { deskOpenApi, openApi } from '#src/interfaces/rest/openapi.ts';

type Node = Record<string, unknown>;
type Operation = {
  operationId: string;
  parameters?: { schema: Node }[];
  requestBody?: { content: Record<string, { schema: Node }> };
  responses: Record<string, { $ref?: string; content: Record<string, { schema: Node }> }>;
};
type Document = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Node>; responses: Record<string, Node> };
};

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Every schema in a value, with its place; `under` is the name of the member that holds it. */
const schemasIn = (value: unknown, at = ''): [string, Node][] => {
  if (Array.isArray(value))
    return value.flatMap((item, index) => schemasIn(item, `${at}/${index}`));
  if (!isNode(value)) return [];
  const inner = Object.entries(value).flatMap(([name, member]) =>
    name === 'examples' ? [] : schemasIn(member, `${at}/${name}`),
  );
  return [[at, value], ...inner];
};

const SCOPES_AS_TEXT = `^(?:${SCOPE_NAMES.join('|')})$`;

const typesOf = ({ type }: Node): unknown[] => (Array.isArray(type) ? type : [type]);

describe.each([
  ['agents', openApi('https://t.example'), Object.keys(operations).length],
  ['the desk', deskOpenApi('https://t.example'), Object.keys(deskOperations).length],
])('The OpenAPI document of %s', (_whose, text, count) => {
  const document = JSON.parse(text) as Document;
  const all = Object.values(document.paths).flatMap((item) => Object.values(item));
  const schemas = schemasIn(document);

  it('The OpenAPI document writes null as a type of a value, never as an alternative', () => {
    expect(all).toHaveLength(count);
    const alternatives = schemas.filter(
      ([at, { anyOf }]) =>
        !at.endsWith('/__schema0') &&
        Array.isArray(anyOf) &&
        anyOf.some((one: Node) => one['type'] === 'null'),
    );
    expect(alternatives.map(([at]) => at)).toEqual([]);
    const nullable = schemas.filter(([, node]) => typesOf(node).includes('null'));
    expect(nullable.length).toBeGreaterThan(4);
    for (const [at, node] of nullable)
      if (Array.isArray(node['enum']))
        expect([at, node['enum']]).toEqual([at, expect.arrayContaining([null])]);
  });

  it('The OpenAPI document names the size of every integer, and none too small for its values', () => {
    const integers = schemas.filter(([, node]) => typesOf(node).includes('integer'));
    expect(integers.length).toBeGreaterThan(20);
    for (const [at, { format, maximum = Infinity }] of integers)
      expect([at, format]).toEqual([at, Number(maximum) > 100_000_000 ? 'int64' : 'int32']);
    const large = schemas.filter(([at]) => /\/(?:amount|unit_price|position|as_of)$/.test(at));
    for (const [at, node] of large)
      if (typesOf(node).includes('integer')) expect([at, node['format']]).toEqual([at, 'int64']);
  });

  it('The OpenAPI document has enums of names only, because serializers of C# read enums by their names', () => {
    const enums = schemas.flatMap(([at, { enum: choices }]) =>
      // Texts of a query are written by hand, not by a serializer.
      Array.isArray(choices) && !at.includes('/parameters/') ? [[at, choices] as const] : [],
    );
    expect(enums.length).toBeGreaterThan(20);
    const isName = (one: unknown) =>
      one === null || (typeof one === 'string' && /^[A-Za-z_]\w*$/.test(one));
    expect(enums.filter(([, choices]) => !choices.every(isName))).toEqual([]);
    const patterns = schemas.flatMap(([, { pattern }]) => (pattern === SCOPES_AS_TEXT ? [1] : []));
    expect(patterns.length).toBeGreaterThan(2);
  });

  it('The OpenAPI document has a name for the body and the answer of every operation', () => {
    for (const { operationId, requestBody, responses } of all) {
      const bodies = [...Object.values(responses), ...(requestBody ? [requestBody] : [])]
        .filter((body) => !('$ref' in body))
        .flatMap(({ content }) => Object.values(content));
      expect(bodies.length).toBeGreaterThan(0);
      for (const { schema } of bodies)
        expect([operationId, schema['$ref']]).toEqual([
          operationId,
          expect.stringMatching(/^#\/components\/schemas\/[A-Z]\w+$/),
        ]);
    }
  });

  it('The OpenAPI document declares one type of an answer, and one of all problems', () => {
    for (const { operationId, responses } of all)
      for (const [status, { content }] of Object.entries(responses))
        if (content)
          expect([operationId, status, Object.keys(content)]).toEqual([
            operationId,
            status,
            ['application/json'],
          ]);
    const problems = Object.values(document.components.responses);
    expect(problems.length).toBeGreaterThan(10);
    for (const { content, 'x-codes': codes } of problems) {
      expect(content).toEqual({
        'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
      });
      expect(codes).not.toEqual([]);
    }
    const { Problem } = document.components.schemas;
    expect(Problem?.['properties']).toMatchObject({
      detail: { 'x-ms-primary-error-message': true },
    });
  });

  it('The OpenAPI document has a component for every reference', () => {
    const references = schemas.flatMap(([, { $ref }]) => (typeof $ref === 'string' ? [$ref] : []));
    expect(references.length).toBeGreaterThan(50);
    const missing = new Set(references).values().filter((reference) => {
      const target = reference
        .slice(2)
        .split('/')
        .reduce<unknown>((node, name) => (isNode(node) ? node[name] : undefined), document);
      return target === undefined;
    });
    expect([...missing]).toEqual([]);
  });
});
