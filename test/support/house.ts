import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { parseSync } from 'oxc-parser';

export const ROOT = normalize(join(import.meta.dirname, '../..'));

export type SourceFile = { path: string; text: string };
type Import = { from: string; typeOnly: boolean };

/** Every source file below the folders named, by its path from the root. */
export const sourceFiles = (...folders: string[]): SourceFile[] =>
  folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => {
        const full = join(entry.parentPath, entry.name);
        return { path: relative(ROOT, full), text: readFileSync(full, 'utf8') };
      }),
  );

/** What a file imports, paths resolved from the root; packages as they are named. */
export const importsOf = ({ path, text }: SourceFile): Import[] => {
  const { module } = parseSync(path, text);
  const statics = module.staticImports.map(({ moduleRequest, entries }) => ({
    from: moduleRequest.value,
    typeOnly: entries.length > 0 && entries.every(({ isType }) => isType),
  }));
  const exports = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest, isType }) =>
      moduleRequest ? [{ from: moduleRequest.value, typeOnly: isType }] : [],
    ),
  );
  return [...statics, ...exports].map(({ from, typeOnly }) => ({
    from: resolve(path, from),
    typeOnly,
  }));
};

const resolve = (path: string, from: string): string => {
  if (from.startsWith('.')) return normalize(join(dirname(path), from));
  return from.startsWith('#') ? from.slice(1) : from;
};

/** A rule of the house: what files of a place may import, by prefix; `types` as types only. */
export type Layer = { place: string; may: string[]; types?: string[] };

/** The rules of DESIGN section 2, and the packages that each room may open. */
export const LAYERS: Layer[] = [
  { place: 'contracts/', may: ['contracts/', 'zod'] },
  { place: 'src/domain/', may: ['src/domain/'], types: ['contracts/events/'] },
  { place: 'src/ports/', may: [], types: ['src/ports/'] },
  {
    place: 'projections/',
    may: ['projections/', 'contracts/events/', 'src/domain/', 'src/ports/', 'node:'],
  },
  {
    place: 'src/app/',
    may: [
      'src/app/',
      'contracts/',
      'src/domain/',
      'src/ports/',
      'zod',
      'node:crypto',
      'node:zlib',
      'canonicalize',
      'csv-parse',
      'isbot',
      'node:stream',
    ],
  },
  {
    place: 'src/interfaces/',
    may: [
      'src/interfaces/',
      'src/app/',
      'contracts/',
      'fastify',
      '@fastify/',
      'zod',
      'openapi3-ts',
      'hono/',
      'marked',
      'uqr',
      'node:',
      'src/ports/event-log.ts',
      'src/ports/read-model.ts',
    ],
    types: ['src/ports/', 'src/domain/', 'pino'],
  },
  {
    place: 'src/adapters/delivery/',
    may: ['src/adapters/delivery/', 'src/ports/', 'node:', 'zod', 'ipaddr.js', 'standardwebhooks'],
  },
  {
    place: 'src/adapters/eventstoredb/',
    may: [
      'src/adapters/eventstoredb/',
      'src/adapters/event-codec.ts',
      'src/adapters/hosts.ts',
      'src/adapters/sealing.ts',
      'src/ports/',
      'node:',
      '@eventstore/db-client',
    ],
  },
  {
    place: 'src/adapters/redis/',
    may: ['src/adapters/redis/', 'src/adapters/recently-used.ts', 'src/ports/', 'node:', 'ioredis'],
  },
  {
    place: 'src/adapters/system/metrics.ts',
    may: ['src/ports/', '@prometheus-io/client'],
  },
  {
    place: 'src/adapters/',
    may: ['src/adapters/', 'src/ports/', 'contracts/events/', 'node:'],
    types: ['zod'],
  },
  { place: 'src/config.ts', may: ['contracts/', 'zod'] },
];

/** Each import that its file's layer does not allow, as a sentence. */
export const layerFaults = (files: readonly SourceFile[]): string[] =>
  files.flatMap((file) => {
    const layer = LAYERS.find(({ place }) => file.path.startsWith(place));
    if (!layer) return [];
    return importsOf(file).flatMap(({ from, typeOnly }) => {
      const allowed = [...layer.may, ...(typeOnly ? (layer.types ?? []) : [])];
      if (allowed.some((prefix) => from === prefix || from.startsWith(prefix))) return [];
      return [`${file.path} may not import ${typeOnly ? 'types of ' : ''}${from}`];
    });
  });

type Ban = { pattern: RegExp; instead: string; except?: RegExp };

/** Words that do not belong, and what to write instead. */
export const BANS: Ban[] = [
  { pattern: /^\s*(?:export )?(?:const )?enum\s/m, instead: 'a const table and its keys' },
  { pattern: /^\s*(?:export )?namespace\s/m, instead: 'a module' },
  {
    pattern: /\bprocess\.env\b/,
    instead: 'src/config.ts',
    except: /^src\/config\.ts$|^contracts\/examples\/sessions\//,
  },
  { pattern: /\bDate\.now\(/, instead: 'the clock', except: /^src\/adapters\/system\// },
  { pattern: /\bnew Date\(\)/, instead: 'the clock', except: /^src\/adapters\/system\// },
  { pattern: /\brandomUUID\(/, instead: 'ids', except: /^src\/adapters\/system\// },
  { pattern: /\bconsole\./, instead: 'the logger, or stdout in the CLI' },
  { pattern: /\bas any\b/, instead: 'a type' },
  { pattern: /\b(?:TODO|FIXME|XXX)\b/, instead: 'an issue' },
  {
    pattern: /import \{[^}]*\btype [A-Z]/,
    instead: 'import type { … }: the inline form still loads the file',
  },
  {
    pattern: /^export default /m,
    instead: 'a named export',
    except: /^infra\/scripts\/plain-reporter\.ts$/,
  },
];

export const bannedWords = (files: readonly SourceFile[]): string[] =>
  files.flatMap(({ path, text }) =>
    BANS.filter(({ pattern, except }) => pattern.test(text) && !except?.test(path)).map(
      ({ pattern, instead }) => `${path} has ${String(pattern)}: use ${instead}`,
    ),
  );
