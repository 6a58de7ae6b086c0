import type { IncomingHttpHeaders } from 'node:http';
import { refuse } from '#src/shared/outcome.ts';
import type { Era, McpFault, Message, Params } from './wire.ts';
import { mcpFaultOf, isRecord, LEGACY_DEFAULT, META, MODERN, VERSIONS } from './wire.ts';

export type McpVersion = { ok: true; era: Era; version: string };

/** Reads a header that mirrors a field of the body, so that proxies can route without parsing the body. */
const headerOf = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === 'string' ? value.trim() : undefined;
};

export const metaOf = ({ _meta }: Params): Params => (isRecord(_meta) ? _meta : {});

const unsupported = (requested: unknown, supported: readonly string[]): McpFault =>
  mcpFaultOf(
    refuse('version_unsupported', 'This protocol version is not supported.', {
      extra: { supported, requested: String(requested).slice(0, 64) },
    }),
  );

const mismatch = (header: string, of: string): McpFault =>
  mcpFaultOf(refuse('header_mismatch', `${header} must be sent, and equal ${of}.`));

/**
 * Finds the protocol version of a request. A version in the body's _meta, or a modern header, makes it modern. Every
 * other request is legacy: its header may be missing, and `initialize` negotiates the version.
 */
export const versionOf = (
  headers: IncomingHttpHeaders,
  message: Message,
): McpVersion | McpFault => {
  const header = headerOf(headers, 'mcp-protocol-version');
  const claimed = metaOf(message.params)[META.version];
  if (claimed === undefined && header !== MODERN) {
    const isSupported = header === undefined || VERSIONS.some((version) => version === header);
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
export const modernFault = (
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
