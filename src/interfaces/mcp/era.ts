import type { IncomingHttpHeaders } from 'node:http';
import { refuse } from '#src/app/pipeline/outcome.ts';
import type { Era, Fault, Message, Params } from './wire.ts';
import { faultOf, isRecord, LEGACY_DEFAULT, META, MODERN, VERSIONS } from './wire.ts';

export type Spoken = { ok: true; era: Era; version: string };

/** A field of HTTP that mirrors the body, so that a proxy can route without reading it. */
const headerOf = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === 'string' ? value.trim() : undefined;
};

export const metaOf = ({ _meta }: Params): Params => (isRecord(_meta) ? _meta : {});

/** By the header alone: for answers to what never became a message. */
export const headerEra = (headers: IncomingHttpHeaders): Era =>
  headerOf(headers, 'mcp-protocol-version') === MODERN ? 'modern' : 'legacy';

const unsupported = (requested: unknown, supported: readonly string[]): Fault =>
  faultOf(
    refuse('version_unsupported', 'This version is not spoken here.', {
      extra: { supported, requested: String(requested).slice(0, 64) },
    }),
  );

const mismatch = (header: string, of: string): Fault =>
  faultOf(refuse('header_mismatch', `${header} must be sent, and equal ${of}.`));

/**
 * Which revision a request speaks. A version in the body's _meta, or a modern header, is modern; all
 * else is legacy, where the header may be missing and `initialize` negotiates whatever it says.
 */
export const spokenIn = (headers: IncomingHttpHeaders, message: Message): Spoken | Fault => {
  const header = headerOf(headers, 'mcp-protocol-version');
  const claimed = metaOf(message.params)[META.version];
  if (claimed === undefined && header !== MODERN) {
    const known = header === undefined || VERSIONS.some((version) => version === header);
    if (!known && message.method !== 'initialize') return unsupported(header, VERSIONS);
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

/** Text that a header cannot carry travels as `=?base64?…?=`. */
const decoded = (value: string): string => {
  const [, base64] = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(value) ?? [];
  return base64 === undefined ? value : Buffer.from(base64, 'base64').toString('utf8');
};

/** Methods whose subject is mirrored, too, and the parameter it is mirrored from. */
const NAMED: Record<string, string> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};

/** What a modern request must carry besides its method and params, or undefined. */
export const modernFault = (
  headers: IncomingHttpHeaders,
  { method, params }: Message,
): Fault | undefined => {
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
    return faultOf(
      refuse('parameter_invalid', 'The _meta of the request is incomplete.', { errors }),
    );
  }
  if (headerOf(headers, 'mcp-protocol-version') === undefined)
    return mismatch('MCP-Protocol-Version', `_meta["${META.version}"]`);
  if (headerOf(headers, 'mcp-method') !== method) return mismatch('Mcp-Method', 'method');
  const source = NAMED[method];
  if (source === undefined || typeof params[source] !== 'string') return undefined;
  const name = headerOf(headers, 'mcp-name');
  return name !== undefined && decoded(name) === params[source]
    ? undefined
    : mismatch('Mcp-Name', `params.${source}`);
};
