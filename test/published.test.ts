import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { BOUNDARIES } from '#contracts/boundaries.ts';
import { deskOperations } from '#contracts/registries/desk.ts';
import { agentOperations, operations } from '#contracts/registries/agents.ts';
import { placeOf } from '#contracts/places.ts';
import { PROBLEM_CODES, type ProblemCode, PROBLEMS } from '#contracts/problems.ts';
import { SCOPE_NAMES } from '#contracts/scopes.ts';
import { PUBLISHED } from '../infra/scripts/publish.ts';
import { ROOT } from './support/source/tree.ts';
import { verifies } from './support/source/verifies.ts';

const published = (name: string): string =>
  readFileSync(join(ROOT, 'contracts/published', name), 'utf8');

type Document = {
  openapi: string;
  paths: Record<
    string,
    Record<
      string,
      {
        operationId: string;
        parameters?: { name: string; in: string; description?: string; schema: Fields }[];
        requestBody?: { content: { 'application/json': { schema: Fields } } };
        responses: Record<string, unknown>;
      }
    >
  >;
};
type Fields = { properties?: Record<string, Fields>; items?: Fields; description?: string };
const openapi = JSON.parse(published('openapi.json')) as Document;
const operationsIn = (document: Document) =>
  Object.values(document.paths).flatMap((item) => Object.values(item));

describe('each published file', () => {
  it.each(Object.entries(PUBLISHED))(
    'The published file %s is equal to what make publish generates from the registry',
    (name, make) => {
      expect(published(name) === make(), `${name} is out of date`).toBe(true);
    },
  );

  it.each(['openapi.json', 'desk-openapi.json'])(
    'The published file %s is valid for an independent OpenAPI validator',
    async (name) => {
      const result = await new Validator().validate(
        JSON.parse(published(name)) as Record<string, unknown>,
      );
      expect(result).toMatchObject({ valid: true });
    },
  );
});

describe('the OpenAPI contract of agents', () => {
  it("The agents' OpenAPI contract has exactly the seven operations", () => {
    verifies('service.3', 'endpoints.rules.5');
    expect(openapi.openapi).toMatch(/^3\.1/);
    expect(
      operationsIn(openapi)
        .map(({ operationId }) => operationId)
        .sort(),
    ).toEqual(Object.keys(operations).sort());
    expect(Object.keys(operations)).toHaveLength(7);
  });

  it("The agents' OpenAPI contract needs the scope of the specification for each operation, and none for getConnection", () => {
    const needed = Object.values(operations).map(({ id, scope }) => [id, scope]);
    expect(Object.fromEntries(needed)).toEqual({
      getConnection: null,
      searchProducts: 'products:read',
      createLink: 'links:write',
      createHandoff: 'handoffs:write',
      listLeads: 'leads:read',
      submitLead: 'leads:write',
      getPerformance: 'performance:read',
    });
    expect(SCOPE_NAMES).toHaveLength(9);
  });

  it("The agents' OpenAPI contract describes every field of every call, including nested fields", () => {
    const undescribedIn = ({ properties = {}, items }: Fields, at: string): string[] => [
      ...(items ? undescribedIn(items, `${at}[]`) : []),
      ...Object.entries(properties).flatMap(([name, field]) => [
        ...(field.description === undefined ? [`${at}.${name}`] : []),
        ...undescribedIn(field, `${at}.${name}`),
      ]),
    ];
    const undescribed = operationsIn(openapi).flatMap(
      ({ operationId, parameters = [], requestBody }) => [
        ...parameters
          .filter(({ description }) => description === undefined)
          .map(({ name }) => `${operationId} ${name}`),
        ...undescribedIn(requestBody?.content['application/json'].schema ?? {}, operationId),
      ],
    );
    expect(undescribed).toEqual([]);
  });

  it("The agents' OpenAPI contract declares Consistency-Token for every query and Idempotency-Key for every command", () => {
    for (const { operationId, parameters = [] } of operationsIn(openapi)) {
      const { kind } = operations[operationId as keyof typeof operations];
      const headers = parameters.filter((one) => one.in === 'header').map(({ name }) => name);
      expect(headers, operationId).toEqual([
        kind === 'query' ? 'Consistency-Token' : 'Idempotency-Key',
      ]);
    }
  });

  it("The agents' OpenAPI contract has no operation or path that names one of the five forbidden acts", () => {
    verifies('service.5');
    expect(BOUNDARIES).toHaveLength(5);
    const names = Object.values(operations).flatMap(({ id, http }) => [id, http.path]);
    const forbidden = /quot|rfq|order|reserv|stock|pay|checkout|purchase/i;
    expect(names.filter((name) => forbidden.test(name))).toEqual([]);
  });
});

describe.each([
  ['agents', operations],
  ['desk', deskOperations],
] as const)('in the %s registry', (_which, registry) => {
  it.each(Object.values(registry).map((operation) => [operation.id, operation] as const))(
    'The operation %s has examples that its schemas accept, and declares only problems of the catalogue',
    (_id, operation) => {
      expect(operation.examples.length).toBeGreaterThan(0);
      for (const { input, output, after } of operation.examples) {
        expect(after === undefined || after in agentOperations).toBe(true);
        expect(operation.input.safeParse(input).error?.issues ?? []).toEqual([]);
        expect(operation.output.safeParse(output).error?.issues ?? []).toEqual([]);
      }
      expect(
        operation.problems.filter((code: ProblemCode) => !PROBLEM_CODES.includes(code)),
      ).toEqual([]);
      const keyed = 'idempotency_key' in operation.input.shape;
      expect(keyed).toBe(operation.kind === 'command');
      for (const name of operation.http.path.matchAll(/\{(\w+)\}/g))
        expect(placeOf(operation, name[1] ?? '')).toBe('path');
    },
  );
});

describe('llms.txt', () => {
  it('`llms.txt` names every operation and boundary, links the contract, and is shorter than 8 KiB', () => {
    verifies('service.7');
    const text = published('llms.txt');
    for (const { id } of Object.values(operations)) expect(text).toContain(id);
    for (const { statement } of BOUNDARIES) expect(text).toContain(statement);
    expect(text).toContain('/api/affiliate/openapi.json');
    expect(text.length).toBeLessThan(8_192);
  });
});

describe('the problem catalogue', () => {
  it('The problem catalogue keeps its codes once published', () => {
    expect(
      Object.entries(PROBLEMS).map(([code, { status }]) => `${status} ${code}`),
    ).toMatchSnapshot();
  });
});
