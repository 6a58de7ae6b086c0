import { createPublicKey, verify } from 'node:crypto';
import { type AgentCard, canonicalizeAgentCard, verifyAgentCardSignature } from '@a2a-js/sdk';
import { DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import canonicalize from 'canonicalize';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { agentOperations } from '#contracts/registries/agents.ts';
import { SKILLS } from '#contracts/tasks/skills.ts';
import { skillsMarkdown } from '#src/interfaces/a2a/card.ts';
import type { TestApp } from '../../support/world/app.ts';
import { a2aApp, BASE, rpc, VERSION } from '../../support/clients/a2a.ts';
import { verifies } from '../../support/source/verifies.ts';

let app: TestApp;
beforeAll(async () => {
  // The client logs each signature that does not match.
  vi.spyOn(globalThis.console, 'debug').mockReturnValue(undefined);
  app = await a2aApp();
});
afterAll(() => app.close());

const CARD = '/.well-known/agent-card.json';
const KEYS = '/.well-known/jwks.json';
const get = (url: string, headers: Record<string, string> = {}) =>
  app.send({ method: 'GET', url, headers });
const ORIGIN = 'https://t.example';

type Jwks = { keys: { kid: string; x: string; kty: string; crv: string }[] };

/** Drops what protobuf can treat as absent, inner values first. */
const withoutEmpty = (card: object): object =>
  JSON.parse(JSON.stringify(card), (_name, value: unknown) => {
    const rest: unknown = Array.isArray(value) ? value.filter((item) => item !== undefined) : value;
    const isEmpty = typeof rest === 'object' && rest !== null && Object.keys(rest).length === 0;
    return rest === '' || rest === null || isEmpty ? undefined : rest;
  }) as object;

/** The ways in which verifiers read a card before they canonicalize it. */
const READINGS = {
  'as served': (card: object) => canonicalize(card) ?? '',
  'without empty members of the JSON': (card: object) => canonicalize(withoutEmpty(card)) ?? '',
  'with the presence of protobuf': (card: object) => canonicalizeAgentCard(card as AgentCard),
};

const LEGACY_MEMBERS = [
  /"type":"http".*?(?="httpAuthSecurityScheme")/,
  /,"protocolVersion":"0\.3\.0".*$/,
];

/** Some 30,000 cards are read in three ways: minutes on a slow machine. */
const MUTATIONS_MS = 600_000;

/** Every text that differs from this one by one character replaced or removed. */
const mutationsOf = (text: string): string[] =>
  text
    .split('')
    .flatMap((letter, at) =>
      [letter === 'x' ? 'y' : 'x', letter === '0' ? '1' : '0', ''].map(
        (other) => text.slice(0, at) + other + text.slice(at + 1),
      ),
    );

const parsed = (text: string): object | undefined => {
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
};

type Wire = AgentCard & { signatures: { protected: string; signature: string }[] };

describe('The agent card', () => {
  it('The agent card is public, has the same bytes for every client, and can be cached', async () => {
    verifies('service.8.agent-card', 'authentication.6', 'endpoints.rules.9');
    const { status, text, headers } = await get(CARD);
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('application/json');
    expect(headers['cache-control']).toBe('public, max-age=60');
    expect(headers['last-modified']).toMatch(/GMT$/);
    const withKey = await app.send({ method: 'GET', url: CARD, key: 'trb_live_wrong' });
    expect(withKey.text).toBe(text);
    expect(headers['etag']).toMatch(/^W\/"[^"]+"$/);
    const strong = headers['etag']?.slice('W/'.length);
    for (const tag of [headers['etag'], strong, `"x", ${headers['etag']}`, '*']) {
      const cached = await get(CARD, { 'if-none-match': tag ?? '' });
      expect([cached.status, cached.text]).toEqual([304, '']);
    }
    expect((await get(CARD, { 'if-none-match': '"x"' })).status).toBe(200);
    const head = await app.service.server.inject({ method: 'HEAD', url: CARD });
    expect([head.statusCode, head.body, head.headers['etag']]).toEqual([200, '', headers['etag']]);
    const post = await app.send({ method: 'POST', url: CARD });
    expect([post.status, post.headers['allow']]).toEqual([405, 'GET, HEAD']);
  });

  it('The agent card contains each member that the A2A standard requires, and no member that it does not define', async () => {
    const card = (await get(CARD)).body as Wire & Record<string, unknown>;
    expect(Object.keys(card).sort()).toEqual(
      [
        'name',
        'description',
        'supportedInterfaces',
        'provider',
        'version',
        'documentationUrl',
        'capabilities',
        'securitySchemes',
        'securityRequirements',
        'defaultInputModes',
        'defaultOutputModes',
        'skills',
        'signatures',
        // Of A2A 0.3.
        'protocolVersion',
        'url',
        'preferredTransport',
        'security',
      ].sort(),
    );
    const { key } = await app.agent('acme');
    const { result: extended } = await rpc<Wire>(app, key, 'GetExtendedAgentCard', {});
    const ofLegacy = ['protocolVersion', 'url', 'preferredTransport', 'security'];
    expect(Object.keys(extended)).toEqual(
      Object.keys(card).filter((name) => !ofLegacy.includes(name)),
    );
    expect(card.supportedInterfaces).toEqual([
      { url: ORIGIN + BASE, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: ORIGIN + BASE, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
      { url: ORIGIN + BASE, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    ]);
    expect(card.capabilities).toEqual({
      streaming: true,
      pushNotifications: true,
      extendedAgentCard: true,
    });
    const allowedNames = new Set([
      'id',
      'name',
      'description',
      'tags',
      'examples',
      'inputModes',
      'outputModes',
      'securityRequirements',
    ]);
    for (const skill of card.skills)
      expect(Object.keys(skill).filter((name) => !allowedNames.has(name))).toEqual([]);
    expect(card.skills.map(({ id }) => id)).toEqual(Object.keys(SKILLS));
  });

  it('The agent card carries a signature of our key that the official client accepts', async () => {
    const card = (await get(CARD)).body as Wire;
    const jwks = (await get(KEYS)).body as Jwks;
    const [key] = jwks.keys;
    const keyRequests: (string | undefined)[] = [];
    const check = verifyAgentCardSignature(async (kid, jku) => {
      keyRequests.push(kid, jku);
      return key as never;
    });
    await check(card);
    const fetchImpl = async () => Response.json(card);
    const resolver = new DefaultAgentCardResolver({ fetchImpl });
    // As its documentation has it: the resolved card is checked.
    await check(await resolver.resolve(ORIGIN));
    expect(keyRequests.splice(2)).toEqual(keyRequests.slice(0, 2));
    expect(keyRequests).toEqual([key?.kid, ORIGIN + KEYS]);
    await expect(check({ ...card, name: 'Tributory' })).rejects.toThrow();
    await expect(
      check({ ...card, capabilities: { ...card.capabilities, pushNotifications: false } } as never),
    ).rejects.toThrow();
  });

  it(
    "The agent card's signature covers every character, for each way of reading the card",
    async () => {
      const [key] = ((await get(KEYS)).body as Jwks).keys;
      const publicKey = createPublicKey({ key: key as never, format: 'jwk' });
      const { key: limited } = await app.agent('acme', ['performance:read']);
      const { result: narrow } = await rpc<Wire>(app, limited, 'GetExtendedAgentCard', {});
      for (const whole of [(await get(CARD)).body as Wire, narrow]) {
        const { signatures, ...card } = whole;
        const isSigned = (payload: string): boolean =>
          signatures.some((one) =>
            verify(
              null,
              Buffer.from(`${one.protected}.${Buffer.from(payload).toString('base64url')}`),
              publicKey,
              Buffer.from(one.signature, 'base64url'),
            ),
          );
        const served = JSON.stringify(card);
        /** Whether a text differs in a member of 0.3, which a verifier that reads only what 1.0 defines does not see. */
        const isLegacy = (text: string): boolean => {
          const at = served.split('').findIndex((letter, index) => letter !== text[index]);
          return LEGACY_MEMBERS.some((members) => {
            const { 0: whole, index } = members.exec(served) ?? { 0: '', index: 0 };
            return at >= index && at < index + whole.length;
          });
        };
        const changed = mutationsOf(served).flatMap((text) => {
          const other = parsed(text);
          return other === undefined ? [] : [{ text, other }];
        });
        expect(changed.length).toBeGreaterThan(5_000);
        for (const [reading, payloadOf] of Object.entries(READINGS)) {
          const payload = payloadOf(card);
          expect([reading, isSigned(payload)]).toEqual([reading, true]);
          // A signature covers exactly its payload, so another card must have another one.
          const accepted = changed.filter(({ other }) => payloadOf(other) === payload);
          const isUnread = reading === 'with the presence of protobuf' ? isLegacy : () => false;
          const wrong = accepted.filter(({ text }) => !isUnread(text));
          expect([reading, wrong.map(({ text }) => text)]).toEqual([reading, []]);
        }
      }
    },
    MUTATIONS_MS,
  );

  it('The agent card shows a key only the skills that its scopes allow', async () => {
    const cardFor = async (scopes: readonly string[]) => {
      const { key } = await app.agent('acme', scopes);
      return (await rpc<Wire>(app, key, 'GetExtendedAgentCard', {})).result;
    };
    const skills = ({ skills: all }: Wire) => all.map(({ id }) => id);
    expect(skills(await cardFor(['handoffs:write']))).toEqual(['prepare_handoff']);
    expect(skills(await cardFor(['products:read']))).toEqual(Object.keys(SKILLS));
    const social = await cardFor(['social:write']);
    expect(skills(social)).toEqual(['coordinate_promotion']);
    expect(social.skills[0]?.examples.map((text) => JSON.parse(text) as object)).toMatchObject([
      { kind: 'social_post' },
    ]);
    expect(social.skills[0]?.securityRequirements).toEqual([
      { schemes: { apiKey: { list: ['social:write'] } } },
    ]);
    const questions = async (...scopes: string[]) =>
      (await cardFor(scopes)).skills.find(({ id }) => id === 'attribution_question')?.examples;
    expect(await questions('performance:read')).toBeUndefined();
    expect(social.securityRequirements).toEqual(social.skills[0]?.securityRequirements);
    expect(await questions('performance:read', 'leads:read')).toHaveLength(1);
    const [key] = ((await get(KEYS)).body as Jwks).keys;
    await verifyAgentCardSignature(async () => key as never)(social);
    const none = await app.send({
      method: 'GET',
      url: `${BASE}/extendedAgentCard`,
      headers: VERSION,
    });
    expect(none.status).toBe(401);
  });
});

describe('The A2A skills', () => {
  it('The A2A skills require the scopes of their operations, and have examples that are valid inputs of them', () => {
    for (const { operations, examples, scope } of Object.values(SKILLS)) {
      expect(examples.length).toBeGreaterThan(0);
      expect([scope].flat()).toEqual(
        operations.length > 0
          ? operations.flatMap((one) => one.scope as string | string[])
          : ['performance:read'],
      );
      for (const [at, { skill: _skill, kind: _kind, ...fields }] of examples.entries()) {
        const id = operations[at]?.id ?? operations[0]?.id;
        if (!id) continue;
        const { input, kind } = agentOperations[id];
        const whole = kind === 'command' ? { ...fields, idempotency_key: 'k' } : fields;
        expect(input.safeParse(whole).error?.issues ?? []).toEqual([]);
      }
    }
  });

  it('The A2A skills are documented on a page that contains no data of a tenant', () => {
    const page = skillsMarkdown(ORIGIN);
    for (const id of Object.keys(SKILLS)) expect(page).toContain(`\`${id}\``);
    for (const [, json = ''] of page.matchAll(/```json\n([^`]+)```/g))
      expect(JSON.parse(json)).toBeTypeOf('object');
    expect(page).toContain(`${ORIGIN}${BASE}`);
  });
});
