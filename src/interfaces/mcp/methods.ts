import type { Budget } from '#src/app/pipeline/admission.ts';
import type { Answer, Asked } from './asked.ts';
import { callTool, toolAsked } from './call-tool.ts';
import { getPrompt, promptList } from './prompts.ts';
import { readResource, resourceList, templateList } from './resources.ts';
import { toolsFor } from './tools.ts';
import type { Caching, Era, Params } from './wire.ts';
import {
  CAPABILITIES,
  invalidParams,
  LEGACY_DEFAULT,
  MODERN,
  resultOf,
  SERVER,
  VERSIONS,
} from './wire.ts';
import { INSTRUCTIONS } from './wording.ts';

export type Method = {
  eras: readonly Era[];
  /** What a call is recorded as and counted against; a read under the method's own name by default. */
  about?(params: Params): { operation: string; budget: Budget };
  answer(asked: Asked): Answer | Promise<Answer>;
};

const BOTH = ['modern', 'legacy'] as const;

const SHARED: Caching = { ttlMs: 300_000, cacheScope: 'public' };
const BY_KEY: Caching = { ttlMs: 60_000, cacheScope: 'private' };

/** A list that is made once for each set of scopes. It has one page: no cursor of ours exists. */
const listing = (caching: Caching, make: (scopes: ReadonlySet<string>) => object): Method => {
  const made = new Map<string, Buffer>();
  /** Scopes of a caller are one set as long as its grants stay: looked up without spelling them out. */
  const spelled = new WeakMap<ReadonlySet<string>, string>();
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
      let granted = spelled.get(scopes);
      if (granted === undefined) {
        granted = [...scopes].sort().join(' ');
        spelled.set(scopes, granted);
      }
      const key = `${era} ${granted}`;
      let result = made.get(key);
      if (result === undefined) {
        result = Buffer.from(JSON.stringify(resultOf(era, make(scopes), { caching })));
        made.set(key, result);
      }
      return { ok: true, result };
    },
  };
};

const discover: Method = {
  eras: ['modern'],
  answer: ({ era }) => {
    const members = {
      supportedVersions: VERSIONS,
      capabilities: CAPABILITIES,
      instructions: INSTRUCTIONS,
    };
    return { ok: true, result: JSON.stringify(resultOf(era, members, { caching: SHARED })) };
  },
};

/** Echoes a version that is negotiated here; any other gets the newest of those. Never a modern one. */
const initialize: Method = {
  eras: ['legacy'],
  answer: ({ era, params: { protocolVersion } }) => {
    const known = VERSIONS.find((version) => version === protocolVersion && version !== MODERN);
    const members = {
      protocolVersion: known ?? LEGACY_DEFAULT,
      capabilities: CAPABILITIES,
      serverInfo: SERVER,
      instructions: INSTRUCTIONS,
    };
    return { ok: true, result: JSON.stringify(resultOf(era, members)) };
  },
};

const ping: Method = { eras: ['legacy'], answer: () => ({ ok: true, result: '{}' }) };

/** Every method that is served, in the order of the specification's pages. */
const METHODS: ReadonlyMap<string, Method> = new Map(
  Object.entries({
    'server/discover': discover,
    initialize,
    ping,
    'tools/list': listing(BY_KEY, (scopes) => ({
      tools: toolsFor(scopes).map(({ entry }) => entry),
    })),
    'tools/call': { eras: BOTH, about: toolAsked, answer: callTool },
    'resources/list': listing(SHARED, resourceList),
    'resources/templates/list': listing(BY_KEY, templateList),
    'resources/read': { eras: BOTH, answer: readResource },
    'prompts/list': listing(SHARED, promptList),
    'prompts/get': { eras: BOTH, answer: getPrompt },
  } satisfies Record<string, Method>),
);

/** The method of this name, where this era has it. */
export const methodNamed = (name: string, era: Era): Method | undefined => {
  const method = METHODS.get(name);
  return method?.eras.includes(era) ? method : undefined;
};
