import type { Rates } from '#contracts/limits.ts';
import { BOUNDARIES } from '#contracts/boundaries.ts';
import { allows, type Scope, SCOPES } from '#contracts/scopes.ts';
import { type RecordKind, RECORDS } from '#src/registries/resources.ts';
import { agentOperations } from '#contracts/registries/agents.ts';
import { refuse } from '#src/shared/outcome.ts';
import { openApi } from '../rest/openapi.ts';
import { llmsText } from '#src/interfaces/documents/llms.ts';
import { toolSchema } from './schema.ts';
import { TOOLS } from './tools.ts';
import { untrustedIn } from './untrusted.ts';
import {
  type Caching,
  mcpFaultOf,
  invalidParams,
  resultOf,
  SHARED,
  type McpAnswer,
  type McpRequest,
} from './wire.ts';

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
  text(origin: string, rates: Rates): string;
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
    text: openApi,
  },
];

type Template = { kind: RecordKind; path: string; title: string; untrusted: readonly string[] };

const TEMPLATES: readonly Template[] = (
  [
    ['link', 'Link', agentOperations.createLink.output],
    ['handoff', 'Handoff', agentOperations.createHandoff.output],
    ['lead', 'Lead', agentOperations.submitLead.output],
    ['product', 'Product', agentOperations.searchProducts.output.shape.data.element],
  ] as const
).map(([kind, title, schema]) => ({
  kind,
  path: `${SCHEME}${kind}s/`,
  title,
  untrusted: untrustedIn(toolSchema(schema, 'output')),
}));

export const resourceList = (): object => ({
  resources: DOCUMENTS.map(({ text: _text, ...entry }) => ({ uri: SCHEME + entry.name, ...entry })),
});

/** The records that a key with these scopes can read. */
export const templateList = (scopes: ReadonlySet<string>): object => ({
  resourceTemplates: TEMPLATES.filter(({ kind }) => scopes.has(RECORDS[kind].scope)).map(
    ({ kind, path, title }) => ({
      uriTemplate: `${path}{id}`,
      name: kind,
      title,
      description: `A ${kind} by its id, whole; needs ${RECORDS[kind].scope}`,
      mimeType: JSON_TYPE,
    }),
  ),
});

const OWN: Caching = { ttlMs: 0, cacheScope: 'private' };

/** resources/read: answers a document, or a record of the caller. */
export const readResource = async (request: McpRequest): Promise<McpAnswer> => {
  const { app, era, params } = request;
  const { uri } = params;
  if (typeof uri !== 'string')
    return invalidParams('/params/uri', 'required', 'names the resource');
  const document = DOCUMENTS.find(({ name }) => SCHEME + name === uri);
  if (document) {
    const { mimeType, text } = document;
    const contents = [{ uri, mimeType, text: text(app.origin(), app.limits) }];
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

/** Invalid params in the modern era; a code of its own in the legacy era. */
const notFound = ({ era }: McpRequest, uri: string): McpAnswer =>
  mcpFaultOf(
    refuse('resource_not_found', 'There is no such resource.', {
      extra: { uri: uri.slice(0, URI_CHARS_MAX).toWellFormed() },
    }),
    { code: era === 'modern' ? -32602 : -32002, status: 200 },
  );
