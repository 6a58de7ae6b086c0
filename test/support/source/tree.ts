import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { parseSync } from 'oxc-parser';

export const ROOT = normalize(join(import.meta.dirname, '../../..'));

export type SourceFile = { path: string; text: string };
/** `late`: by import(), when it is needed. */
type Import = { from: string; typeOnly: boolean; late?: boolean };

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
  const dynamics = module.dynamicImports.map(({ moduleRequest: { start, end } }) => ({
    from: text.slice(start, end).replaceAll(/^['"`]|['"`]$/g, ''),
    typeOnly: false,
    late: true,
  }));
  const statics = module.staticImports.map(({ moduleRequest, entries }) => ({
    from: moduleRequest.value,
    typeOnly: entries.length > 0 && entries.every(({ isType }) => isType),
  }));
  const exports = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest, isType }) =>
      moduleRequest ? [{ from: moduleRequest.value, typeOnly: isType }] : [],
    ),
  );
  return [...statics, ...dynamics, ...exports].map((found) => ({
    ...found,
    from: resolve(path, found.from),
  }));
};

const resolve = (path: string, from: string): string => {
  if (from.startsWith('.')) return normalize(join(dirname(path), from));
  return from.startsWith('#') ? from.slice(1) : from;
};

/**
 * A rule of the house: what files of a place may import; `types` as types only. A place is a file, a
 * folder with all below it (`a/`), or the files of a folder itself (`a/*`).
 */
export type Layer = { place: string; may: string[]; types?: string[] };

/** What more than one driver needs. */
const SHARED = 'src/adapters/*';
/** A driver's room, closed to the others. */
const driver = (name: string, ...packages: string[]): Layer => {
  const own = `src/adapters/${name}/`;
  return { place: own, may: [own, SHARED, 'src/ports/', 'node:', ...packages] };
};

const HOUSE = ['contracts/', 'projections/', 'src/'];

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
      'isbot',
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
  { place: SHARED, may: [SHARED, 'src/ports/', 'contracts/events/', 'node:'] },
  driver('delivery', 'zod', 'ipaddr.js', 'standardwebhooks'),
  driver('eventstoredb', '@eventstore/db-client'),
  driver('memory'),
  driver('redis', 'ioredis'),
  driver('sqlite', 'contracts/events/'),
  driver('system', '@prometheus-io/client'),
  { place: 'src/config.ts', may: ['contracts/', 'zod'] },
  {
    place: 'src/demo/',
    may: ['src/demo/', 'src/app/', 'contracts/', 'src/ports/', 'zod', 'node:'],
    types: ['src/domain/', 'src/main.ts'],
  },
  // Where the rooms are put together: all of them, and no driver's package past its room.
  { place: 'src/wiring/', may: [...HOUSE, 'node:', 'pino'], types: ['fastify'] },
  { place: 'src/core.ts', may: HOUSE, types: ['pino'] },
  { place: 'src/main.ts', may: HOUSE, types: ['fastify'] },
  { place: 'src/cli.ts', may: ['src/', 'commander'] },
  {
    place: 'src/cli/',
    may: [...HOUSE, 'commander', 'cli-progress', 'pino', 'zod', 'node:'],
    types: ['fastify'],
  },
];

/** Whether a name of the table takes in a path or a package, with the paths below it. */
const covers = (name: string, path: string): boolean => {
  if (name.endsWith('*')) {
    const folder = name.slice(0, -1);
    return path.startsWith(folder) && !path.slice(folder.length).includes('/');
  }
  if (/[/:]$/.test(name)) return path.startsWith(name);
  return path === name || path.startsWith(`${name}/`);
};

/** Each file outside all layers, and each import that its file's layer does not allow, in words. */
export const layerFaults = (files: readonly SourceFile[]): string[] =>
  files.flatMap((file) => {
    const layer = LAYERS.find(({ place }) => covers(place, file.path));
    if (!layer) return [`${file.path} stands in no layer`];
    return importsOf(file).flatMap(({ from, typeOnly }) => {
      const allowed = [...layer.may, ...(typeOnly ? (layer.types ?? []) : [])];
      if (allowed.some((name) => covers(name, from))) return [];
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
    pattern: /import \{ type [^,}]+(?:, type [^,}]+)* \}/,
    instead: 'import type { … }: an import of inline types only still loads the file',
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
