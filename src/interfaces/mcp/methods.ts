import type { Budget } from '#src/shared/call.ts';
import { callTool, aboutTool } from './call-tool.ts';
import { getPrompt, promptList } from './prompts.ts';
import { readResource, resourceList, templateList } from './resources.ts';
import { toolsFor } from './tools.ts';
import type { Caching, Era, McpAnswer, McpRequest, Params } from './wire.ts';
import {
  CAPABILITIES,
  invalidParams,
  LEGACY_DEFAULT,
  MODERN,
  resultOf,
  SERVER,
  SHARED,
  VERSIONS,
} from './wire.ts';
import { INSTRUCTIONS } from './wording.ts';

export type McpMethod = {
  eras: readonly Era[];
  /** What a call is audited as and which budget it takes from; by default a read under the method's name. */
  about?(params: Params): { operation: string; budget: Budget };
  answer(request: McpRequest): McpAnswer | Promise<McpAnswer>;
};

const BOTH = ['modern', 'legacy'] as const;

const BY_KEY: Caching = { ttlMs: 60_000, cacheScope: 'private' };

/** A list that is made once for each set of scopes. It has one page, so every cursor is invalid. */
const listing = (caching: Caching, make: (scopes: ReadonlySet<string>) => object): McpMethod => {
  const resultByScopes = new Map<string, Buffer>();
  return {
    eras: BOTH,
    answer({ era, admission, params: { cursor } }) {
      if (cursor !== undefined)
        return invalidParams(
          '/params/cursor',
          'cursor_invalid',
          'there is one page, without a cursor',
        );
      const { scopes } = admission.caller;
      const key = [era, ...[...scopes].sort()].join(' ');
      const result =
        resultByScopes.get(key) ??
        Buffer.from(JSON.stringify(resultOf(era, make(scopes), { caching })));
      resultByScopes.set(key, result);
      return { ok: true, result };
    },
  };
};

const discover: McpMethod = {
  eras: ['modern'],
  answer: ({ era }) => {
    const about = { capabilities: CAPABILITIES, instructions: INSTRUCTIONS };
    const members = { supportedVersions: VERSIONS, ...about };
    return { ok: true, result: JSON.stringify(resultOf(era, members, { caching: SHARED })) };
  },
};

/** Answers the requested version when it is a legacy one, and the newest legacy version otherwise. */
const initialize: McpMethod = {
  eras: ['legacy'],
  answer: ({ era, params: { protocolVersion } }) => {
    const requested = VERSIONS.find((version) => version === protocolVersion && version !== MODERN);
    const members = {
      protocolVersion: requested ?? LEGACY_DEFAULT,
      capabilities: CAPABILITIES,
      serverInfo: SERVER,
      instructions: INSTRUCTIONS,
    };
    return { ok: true, result: JSON.stringify(resultOf(era, members)) };
  },
};

const ping: McpMethod = { eras: ['legacy'], answer: () => ({ ok: true, result: '{}' }) };

/** Every supported method, in the order of the specification. */
const METHODS: ReadonlyMap<string, McpMethod> = new Map(
  Object.entries({
    'server/discover': discover,
    initialize,
    ping,
    'tools/list': listing(BY_KEY, (scopes) => ({
      tools: toolsFor(scopes).map(({ entry }) => entry),
    })),
    'tools/call': { eras: BOTH, about: aboutTool, answer: callTool },
    'resources/list': listing(SHARED, resourceList),
    'resources/templates/list': listing(BY_KEY, templateList),
    'resources/read': { eras: BOTH, answer: readResource },
    'prompts/list': listing(SHARED, promptList),
    'prompts/get': { eras: BOTH, answer: getPrompt },
  } satisfies Record<string, McpMethod>),
);

/** Whether a request has this name in any era; a notification never has it. */
export const isRequestName = (name: string): boolean => METHODS.has(name);

/** The method with this name; undefined when the era does not have it. */
export const methodNamed = (name: string, era: Era): McpMethod | undefined => {
  const method = METHODS.get(name);
  return method?.eras.includes(era) ? method : undefined;
};
