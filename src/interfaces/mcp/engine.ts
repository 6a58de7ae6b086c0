/** Answers the methods of MCP in each supported version. */
import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { beginningOf } from '#contracts/texts.ts';
import { BOUNDARIES, boundaryOf } from '#contracts/boundaries.ts';
import { line } from '#contracts/fields.ts';
import { LIMITS, type Rates } from '#contracts/limits.ts';
import { OWN_RECORDS, type RecordKind } from '#contracts/records/records.ts';
import { allows, type Scope, SCOPES } from '#contracts/scopes.ts';
import { clientIn, readInput } from '#src/calls/input.ts';
import { llmsText } from '#src/interfaces/documents/llms.ts';
import type { AgentApp } from '#src/registries/app.ts';
import { RECORD_SCOPES } from '#src/records/read-record.ts';
import type { CompletedKind } from '#src/registries/resources.ts';
import type { Budget, Admission, AgentCaller, ClientInfo } from '#src/shared/call.ts';
import { isRecord, present } from '#src/shared/json.ts';
import { refuse, done, forbidden, type Refusal } from '#src/shared/outcome.ts';
import {
  callTool,
  aboutTool,
  refusedEarly,
  toolSchema,
  TOOLS,
  untrustedIn,
  toolsFor,
} from './tools.ts';
import {
  type Era,
  type McpFault,
  type Message,
  type Params,
  mcpFaultOf,
  LEGACY_DEFAULT,
  META,
  MODERN,
  VERSIONS,
  FORMER_VERSIONS,
  type McpAnswer,
  type McpRequest,
  resultOf,
  type Caching,
  invalidParams,
  SHARED,
  CAPABILITIES,
  SERVER,
  INSTRUCTIONS,
  type RpcId,
  idOf,
  readMessage,
} from './wire.ts';

type McpVersion = { ok: true; era: Era; version: string };

/** Reads a header that mirrors a field of the body, so that proxies can route without parsing the body. */
const headerOf = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === 'string' ? value.trim() : undefined;
};

const metaOf = ({ _meta }: Params): Params => (isRecord(_meta) ? _meta : {});

const unsupported = (requested: unknown, supported: readonly string[]): McpFault =>
  mcpFaultOf(
    refuse('version_unsupported', 'This protocol version is not supported.', {
      extra: { supported, requested: beginningOf(String(requested).toWellFormed(), 64) },
    }),
  );

const mismatch = (header: string, of: string): McpFault =>
  mcpFaultOf(refuse('header_mismatch', `${header} must be sent, and equal ${of}.`));

/**
 * Finds the protocol version of a request. A version in the body's _meta, or a modern header, makes it modern. Every
 * other request is legacy: its header may be missing, and `initialize` negotiates the version.
 */
const versionOf = (headers: IncomingHttpHeaders, message: Message): McpVersion | McpFault => {
  const header = headerOf(headers, 'mcp-protocol-version');
  const claimed = metaOf(message.params)[META.version];
  if (claimed === undefined && header !== MODERN) {
    const isSupported = header === undefined || isServed(header);
    if (!isSupported && message.method !== 'initialize') return unsupported(header, VERSIONS);
    return { ok: true, era: 'legacy', version: header ?? LEGACY_DEFAULT };
  }
  if (claimed !== undefined && header !== undefined && header !== claimed)
    return mismatch('MCP-Protocol-Version', `_meta["${META.version}"]`);
  if (claimed !== undefined && claimed !== MODERN) {
    const isLegacy = VERSIONS.some((version) => version === claimed);
    return unsupported(claimed, isLegacy ? [MODERN] : VERSIONS);
  }
  return { ok: true, era: 'modern', version: MODERN };
};

const isServed = (asked: unknown): boolean =>
  [...VERSIONS, ...FORMER_VERSIONS].some((version) => version === asked);

/** Decodes `=?base64?…?=`, the form of text that a header cannot carry. */
const decodeHeader = (value: string): string => {
  const [, base64] = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(value) ?? [];
  return base64 === undefined ? value : Buffer.from(base64, 'base64').toString('utf8');
};

/** The parameter that Mcp-Name mirrors, by method. */
const MIRRORED: Record<string, string> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};

/** Checks what a modern request must have besides method and params; undefined when it is complete. */
const modernFault = (
  headers: IncomingHttpHeaders,
  { method, params }: Message,
): McpFault | undefined => {
  const meta = metaOf(params);
  const missing = [
    ...(typeof meta[META.version] === 'string' ? [] : [META.version]),
    ...(isRecord(meta[META.capabilities]) ? [] : [META.capabilities]),
  ];
  if (missing.length > 0) {
    const errors = missing.map((name) => ({
      pointer: `/params/_meta/${name.replace('/', '~1')}`,
      code: 'required',
      detail: 'is required in every request',
    }));
    return mcpFaultOf(
      refuse('parameter_invalid', 'The _meta of the request is incomplete.', { errors }),
    );
  }
  if (headerOf(headers, 'mcp-protocol-version') === undefined)
    return mismatch('MCP-Protocol-Version', `_meta["${META.version}"]`);
  if (headerOf(headers, 'mcp-method') !== method) return mismatch('Mcp-Method', 'method');
  const source = MIRRORED[method];
  if (source === undefined || typeof params[source] !== 'string') return undefined;
  const name = headerOf(headers, 'mcp-name');
  return name !== undefined && decodeHeader(name) === params[source]
    ? undefined
    : mismatch('Mcp-Name', `params.${source}`);
};

const words = line(200);

/** MCP has only texts for arguments of prompts; clients also send the number. */
const days = z.int().min(1).max(LIMITS.PERFORMANCE_DAYS_MAX);

type Prompt = {
  name: string;
  title: string;
  description: string;
  arguments: z.ZodObject<Record<string, z.ZodType<string | number | undefined>>>;
  /** The task as text, with the arguments in it. */
  text(given: Readonly<Record<string, string | number | undefined>>): string;
};

const PROMPTS: readonly Prompt[] = [
  {
    name: 'promote_product',
    title: 'Promote a product',
    description: 'Find a ready-stock product, link it, and prepare what people approve',
    arguments: z.strictObject({
      product: words.describe('Words, sku or id of the product'),
      campaign: words.optional().describe('Name of the campaign, for reports'),
    }),
    text: ({ product = '', campaign }) =>
      [
        `Promote a wholesale product of the catalog. What to look for, as the user said it: "${product}".`,
        ...(campaign === undefined ? [] : [`The campaign is called "${campaign}".`]),
        '1. get_connection: see which scopes are granted; leave out the steps that are not open.',
        '2. search_products: choose one published product; prices are indicative, stock is a signal.',
        '3. create_link to it, with an idempotency_key of its own. Show its disclosure beside it.',
        '4. request_social_post or request_message: propose one text with the link and the disclosure. ' +
          'People approve exactly that text; get_outbound_request shows what they decided.',
        '5. create_handoff when a buyer wants a list: give review_url to the buyer, who alone can send the RFQ.',
      ].join('\n'),
  },
  {
    name: 'review_performance',
    title: 'Review performance',
    description: 'Compare a period with the one before and say what to do next',
    arguments: z.strictObject({
      days: days.optional().describe('Length of the period in days, for example 28'),
    }),
    text: ({ days: count = 28 }) =>
      [
        `Review how the promotion did over the last ${count} days, compared with the days before.`,
        '1. get_performance with granularity total and compare_to previous_period; then again with ' +
          'group_by campaign, and with group_by link_id.',
        '2. list_leads with updated_since at the start of the period, if leads:read is granted: count the leads by their ' +
          'state and by the state of their rfq, all of them, and also those that were lost, lapsed or rejected.',
        '3. Say which links and campaigns gained or lost, in clicks_unique, handoffs, rfqs_submitted, rfqs_taken_up, ' +
          'rfqs_won and leads, and what to do next. Say how many pages of leads you did not read, and which numbers you left out. ' +
          'Name the numbers as they are; amounts are minor units, never summed across currencies.',
      ].join('\n'),
  },
];

const promptList = (): object => ({
  prompts: PROMPTS.map(({ text: _text, arguments: { shape }, ...entry }) => ({
    ...entry,
    arguments: Object.entries<z.ZodType>(shape).map(([name, schema]) => ({
      name,
      description: schema.description,
      required: !(schema instanceof z.ZodOptional),
    })),
  })),
});

/** prompts/get: answers the task as a message of the user. */
const getPrompt = ({ era, params }: McpRequest): McpAnswer => {
  const { name, arguments: sent = {} } = params;
  const prompt = PROMPTS.find((entry) => entry.name === name);
  if (!prompt)
    return mcpFaultOf(refuse('route_not_found', 'There is no such prompt; see prompts/list.'), {
      code: -32602,
      status: 200,
    });
  const read = readInput(prompt.arguments, sent);
  if ('faults' in read) {
    const errors = read.faults.map(({ pointer, ...fault }) => ({
      pointer: `/params/arguments${pointer}`,
      ...fault,
    }));
    return mcpFaultOf(refuse('parameter_invalid', 'The params are not valid.', { errors }), {
      status: 200,
    });
  }
  const { description, text } = prompt;
  const messages = [{ role: 'user', content: { type: 'text', text: text(read.value) } }];
  return { ok: true, result: JSON.stringify(resultOf(era, { description, messages })) };
};

const SCHEME = 'tributary://';
const JSON_TYPE = 'application/json';

const scopeGuide = (): string => {
  const lines = (Object.keys(SCOPES) as Scope[]).map((scope) => {
    const opened = TOOLS.filter(({ operation }) => allows(operation.scope, new Set([scope])));
    const names = opened.filter(({ operation }) => operation.scope !== null);
    const { meaning } = SCOPES[scope];
    return `- \`${scope}\`: ${meaning}. Opens ${names.map(({ entry }) => entry.name).join(', ')}.`;
  });
  const rule =
    'No scope implies another. get_connection shows what is granted; the owner asks for more.';
  return ['# Scopes', '', rule, '', ...lines, ''].join('\n');
};

type Document = {
  name: string;
  title: string;
  description: string;
  mimeType: string;
  text(origin: string, rates: Rates): string | Promise<string>;
};

/** Documents that are the same for every key. */
const DOCUMENTS: readonly Document[] = [
  {
    name: 'boundaries',
    title: 'Safety boundaries',
    description: 'The five acts that no agent can do here, and who can',
    mimeType: JSON_TYPE,
    text: () => JSON.stringify(BOUNDARIES, undefined, 2),
  },
  {
    name: 'scopes',
    title: 'Scope guide',
    description: 'What each scope is for, and which tools it opens',
    mimeType: 'text/markdown',
    text: scopeGuide,
  },
  {
    name: 'llms.txt',
    title: 'llms.txt',
    description: 'Which operation for which use, boundaries, links',
    mimeType: 'text/plain',
    text: llmsText,
  },
  {
    name: 'openapi.json',
    title: 'OpenAPI contract',
    description: 'The REST operations that the same key opens',
    mimeType: JSON_TYPE,
    text: async (origin, rates) =>
      (await import('#src/interfaces/rest/openapi.ts')).openApi(origin, rates),
  },
];

type Template = { kind: RecordKind; path: string; title: string; untrusted: readonly string[] };

const PATHS: Readonly<Record<RecordKind, string>> = {
  link: 'links',
  handoff: 'handoffs',
  lead: 'leads',
  outreach: 'outreach',
  product: 'products',
};

const TEMPLATES: readonly Template[] = (
  Object.entries(OWN_RECORDS) as [RecordKind, z.ZodType][]
).map(([kind, schema]) => ({
  kind,
  path: `${SCHEME}${PATHS[kind]}/`,
  title: `${kind.slice(0, 1).toUpperCase()}${kind.slice(1)}`,
  untrusted: untrustedIn(toolSchema(schema, 'output')),
}));

const resourceList = (): object => ({
  resources: DOCUMENTS.map(({ text: _text, ...entry }) => ({ uri: SCHEME + entry.name, ...entry })),
});

/** The records that a key with these scopes can read. */
const templateList = (scopes: ReadonlySet<string>): object => ({
  resourceTemplates: TEMPLATES.filter(({ kind }) => allows(RECORD_SCOPES[kind], scopes)).map(
    ({ kind, path, title }) => ({
      uriTemplate: `${path}{id}`,
      name: kind,
      title,
      description: `A ${kind} by its id, whole; needs ${[RECORD_SCOPES[kind] ?? []].flat().join(' or ')}`,
      mimeType: JSON_TYPE,
    }),
  ),
});

const OWN: Caching = { ttlMs: 0, cacheScope: 'private' };

/** resources/read: answers a document, or a record of the caller. */
const readResource = async (request: McpRequest): Promise<McpAnswer> => {
  const { app, era, params } = request;
  const { uri } = params;
  if (typeof uri !== 'string')
    return invalidParams('/params/uri', 'required', 'names the resource');
  const document = DOCUMENTS.find(({ name }) => SCHEME + name === uri);
  if (document) {
    const { mimeType, text } = document;
    const contents = [{ uri, mimeType, text: await text(app.origin(), app.limits) }];
    return { ok: true, result: JSON.stringify(resultOf(era, { contents }, { caching: SHARED })) };
  }
  const template = TEMPLATES.find(({ path }) => uri.startsWith(path));
  return template ? readOwn(request, template, uri) : notFound(request, uri);
};

const readOwn = async (
  request: McpRequest,
  template: Template,
  uri: string,
): Promise<McpAnswer> => {
  const { app, admission, era, requestId, consistencyToken } = request;
  const { kind, path, untrusted } = template;
  const id = uri.slice(path.length);
  // Taken before the read: the record may be newer than the token, never older.
  const token = app.tokenFor();
  const outcome = await app.records.perform(admission, 'readRecord', {
    input: { kind, id },
    consistencyToken,
  });
  if (!outcome.ok)
    return outcome.code === 'resource_not_found' ? notFound(request, uri) : mcpFaultOf(outcome);
  const text = JSON.stringify(outcome.value);
  const contents = [{ uri, mimeType: JSON_TYPE, text, _meta: { untrusted } }];
  const parts = { caching: OWN, meta: { requestId, consistencyToken: token } };
  return {
    ok: true,
    result: JSON.stringify(resultOf(era, { contents }, parts)),
    headers: { 'consistency-token': token },
  };
};

const URI_CHARS_MAX = 200;

/** What the arguments of prompts take; the others take what cannot be listed. */
const COMPLETED: Readonly<Record<string, CompletedKind>> = {
  product: 'product_ref',
  campaign: 'campaign',
};

const COMPLETION = z.object({
  ref: z.discriminatedUnion('type', [
    z.object({ type: z.literal('ref/prompt'), name: z.string() }),
    z.object({ type: z.literal('ref/resource'), uri: z.string() }),
  ]),
  argument: z.object({ name: z.string(), value: z.string().max(URI_CHARS_MAX) }),
});

/** Finds what an argument takes; null for one whose values cannot be listed, undefined for one that does not exist. */
const completedBy = ({
  ref,
  argument: { name },
}: z.infer<typeof COMPLETION>): CompletedKind | null | undefined => {
  if (ref.type === 'ref/resource') {
    const template = TEMPLATES.find(({ path }) => `${path}{id}` === ref.uri);
    return name === 'id' ? template?.kind : undefined;
  }
  const prompt = PROMPTS.find((entry) => entry.name === ref.name);
  return prompt && Object.hasOwn(prompt.arguments.shape, name)
    ? (COMPLETED[name] ?? null)
    : undefined;
};

/** completion/complete: answers values that begin with what was typed. */
const complete = async ({
  app,
  admission,
  era,
  params,
  consistencyToken,
}: McpRequest): Promise<McpAnswer> => {
  const read = COMPLETION.safeParse(params);
  if (!read.success) {
    const [issue] = read.error.issues;
    const pointer = ['/params', ...(issue?.path ?? [])].join('/');
    return invalidParams(pointer, 'invalid', issue?.message ?? 'is not valid');
  }
  const kind = completedBy(read.data);
  if (kind === undefined)
    return invalidParams(
      '/params/argument/name',
      'unknown',
      'is no argument of a prompt of prompts/list or of a template of resources/templates/list',
    );
  const { value } = read.data.argument;
  const outcome = kind
    ? await app.records.perform(admission, 'completeValue', {
        input: { kind, value },
        consistencyToken,
      })
    : done({ values: [], has_more: false });
  if (!outcome.ok) return mcpFaultOf(outcome);
  const { values, has_more: hasMore } = outcome.value;
  return { ok: true, result: JSON.stringify(resultOf(era, { completion: { values, hasMore } })) };
};

/** Invalid params in the modern era; a code of its own in the legacy era. */
const notFound = ({ era }: McpRequest, uri: string): McpAnswer =>
  mcpFaultOf(
    refuse('resource_not_found', 'There is no such resource.', {
      extra: { uri: beginningOf(uri.toWellFormed(), URI_CHARS_MAX) },
    }),
    { code: era === 'modern' ? -32602 : -32002, status: 200 },
  );

type McpMethod = {
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
      // An empty cursor is that of the first page.
      if (cursor !== undefined && cursor !== '')
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
    const isLegacy = isServed(protocolVersion) && protocolVersion !== MODERN;
    const members = {
      protocolVersion: isLegacy ? protocolVersion : LEGACY_DEFAULT,
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
    'completion/complete': { eras: BOTH, answer: complete },
  } satisfies Record<string, McpMethod>),
);

/** Whether a request has this name in any era; a notification never has it. */
const isRequestName = (name: string): boolean => METHODS.has(name);

/** The method with this name; undefined when the era does not have it. */
const methodNamed = (name: string, era: Era): McpMethod | undefined => {
  const method = METHODS.get(name);
  return method?.eras.includes(era) ? method : undefined;
};

/** A request of a known caller, as it was received over HTTP. */
type ReceivedBody = {
  app: AgentApp;
  admission: Admission<AgentCaller>;
  requestId: string;
  headers: IncomingHttpHeaders;
  body: unknown;
};

/** The answer and its id; a notification has no answer. */
type Handled = { id: RpcId | null | undefined; answer: McpAnswer | undefined };

type About = { operation: string; budget: Budget };
type Prepared = About & ({ fault: McpFault } | Ready);
type Ready = { fault?: undefined; era: Era; message: Message; method: McpMethod | undefined };

/** What a request is audited as before its message is parsed. */
export const UNREAD: About = { operation: 'mcp:request', budget: 'read' };

/** Audit records contain no method names that clients make up. */
const UNKNOWN = 'mcp:unknown';

const NOTIFICATIONS: ReadonlySet<string> = new Set([
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
  'notifications/roots/list_changed',
]);

const NO_ID = refuse('malformed_request', 'A request needs an id: a string or a whole number.');

const READ = done(null);

/**
 * Answers one message. Every message takes from a budget first and is audited once: by the operation that it performs,
 * or here.
 */
export const handleMessage = async (received: ReceivedBody): Promise<Handled> => {
  const { app, admission, requestId, headers } = received;
  const id = idOf(received.body) ?? noId(headers);
  const prepared = prepare(received);
  const conclude = (refusal?: Refusal): void =>
    app.agents.conclude(admission, prepared.operation, refusal ?? READ);
  const overLimit = app.agents.charge(admission, prepared.budget);
  const fault = overLimit ? mcpFaultOf(overLimit) : prepared.fault;
  if (fault || prepared.fault) {
    conclude(fault?.refusal);
    const result = overLimit && refusedCall(received, overLimit);
    const headers = { 'retry-after': String(overLimit?.retryAfterS) };
    return { id, answer: result === undefined ? fault : { ok: true, result, headers } };
  }
  const { era, message, method } = prepared;
  if (!method) {
    conclude();
    return { id, answer: undefined };
  }
  nameClient(admission, headers, message);
  const consistencyToken = tokenOf(headers, message);
  const { params } = message;
  const answer = await method.answer({ app, admission, requestId, era, params, consistencyToken });
  conclude(answer.ok ? undefined : answer.refusal);
  return { id, answer };
};

const INITIALIZED_MAX = 1_000;
/** What `initialize` named last for a key and a User-Agent: later requests of these versions do not name their client. */
const initialized = new Map<string, ClientInfo>();

/** Keeps with a request the client that it names, or that its `initialize` named to this process. */
const nameClient = (
  { arrival, caller }: Admission<AgentCaller>,
  headers: IncomingHttpHeaders,
  { method, params }: Message,
): void => {
  const meta = metaOf(params);
  const connection = `${caller.keyId} ${headers['user-agent'] ?? ''}`;
  const isFirst = method === 'initialize';
  const named = clientIn(isFirst ? params['clientInfo'] : meta[META.client], meta['model']);
  if (isFirst && named) {
    initialized.delete(connection);
    initialized.set(connection, named);
    const [oldest] = initialized.keys();
    if (initialized.size > INITIALIZED_MAX && oldest !== undefined) initialized.delete(oldest);
  }
  const known = named ?? initialized.get(connection) ?? arrival.client;
  const model = clientIn({ name: '-' }, meta['model'])?.model;
  if (known) arrival.client = { ...known, ...present({ model }) };
};

/** The tool result for a call that is refused before it is performed; undefined when the body calls no tool. */
export const refusedCall = (
  { app, requestId, ...request }: Pick<ReceivedBody, 'app' | 'requestId' | 'headers' | 'body'>,
  refusal: Refusal,
): string | undefined => {
  const prepared = prepare(request);
  return prepared.fault || prepared.method === undefined || prepared.message.method !== 'tools/call'
    ? undefined
    : refusedEarly({ app, requestId, era: prepared.era }, refusal);
};

/** The id of an error whose request has no valid one: absent since 2025-11-25, and null before. */
export const noId = (headers: IncomingHttpHeaders): null | undefined => {
  const version = String(headers['mcp-protocol-version'] ?? LEGACY_DEFAULT);
  return version < LEGACY_DEFAULT && isServed(version) ? null : undefined;
};

/** Parses and checks a request before it takes from a budget. */
const prepare = ({ headers, body }: Pick<ReceivedBody, 'headers' | 'body'>): Prepared => {
  const message = readMessage(body);
  if ('ok' in message) return { ...UNREAD, fault: message };
  const version = versionOf(headers, message);
  if (!version.ok) return { ...UNREAD, fault: version };
  const { era } = version;
  if (message.id === undefined && isRequestName(message.method))
    return { ...UNREAD, fault: mcpFaultOf(NO_ID) };
  if (message.id === undefined) {
    const operation = NOTIFICATIONS.has(message.method) ? `mcp:${message.method}` : UNKNOWN;
    return { operation, budget: 'read', era, message, method: undefined };
  }
  const method = methodNamed(message.method, era);
  if (!method) return unknownMethod(message.method, era);
  const about = method.about?.(message.params) ?? {
    operation: `mcp:${message.method}`,
    budget: 'read',
  };
  const fault = era === 'modern' ? modernFault(headers, message) : undefined;
  return fault ? { ...about, fault } : { ...about, era, message, method };
};

const unknownMethod = (name: string, era: Era): Prepared => {
  const boundary = boundaryOf(name);
  const refusal = boundary
    ? forbidden(boundary)
    : refuse('route_not_found', 'There is no such method in this version.');
  const fault = mcpFaultOf(refusal, { code: -32601, status: era === 'modern' ? 404 : 200 });
  return { operation: boundary ? `boundary:${boundary}` : UNKNOWN, budget: 'read', fault };
};

/** The consistency token of the header, or of _meta, for clients that cannot set headers for one call. */
const tokenOf = (headers: IncomingHttpHeaders, { params }: Message): string | undefined => {
  const header = headers['consistency-token'];
  if (header !== undefined) return String(header);
  const token = metaOf(params)['consistencyToken'];
  return typeof token === 'string' ? token : undefined;
};
