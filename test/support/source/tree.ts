import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { parseSync } from 'oxc-parser';

export const ROOT = normalize(join(import.meta.dirname, '../../..'));

export type SourceFile = { path: string; text: string };
/** `late`: imported by import(). */
type Import = { from: string; typeOnly: boolean; late?: boolean };

/** Returns every source file below the folders, by its path from the root. */
export const sourceFiles = (...folders: string[]): SourceFile[] =>
  folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => {
        const full = join(entry.parentPath, entry.name);
        return { path: relative(ROOT, full), text: readFileSync(full, 'utf8') };
      }),
  );

/** Returns the imports of a file, with paths from the root, or names of packages. */
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
  return [...statics, ...dynamics, ...exports].map((imported) => ({
    ...imported,
    from: resolve(path, imported.from),
  }));
};

const resolve = (path: string, from: string): string => {
  if (from.startsWith('.')) return normalize(join(dirname(path), from));
  return from.startsWith('#') ? from.slice(1) : from;
};

/**
 * A layering rule: what files of a place may import; `types` as types only. A place is a file, a
 * folder with all below it (`a/`), or the files of a folder itself (`a/*`).
 */
export type Layer = { place: string; may: string[]; types?: string[] };

/** Files that several drivers share. */
const SHARED = 'src/adapters/*';
/** The folder of a driver, which other drivers may not import. */
const driver = (name: string, ...packages: string[]): Layer => {
  const own = `src/adapters/${name}/`;
  return { place: own, may: [own, SHARED, 'src/ports/', 'node:', ...packages] };
};

const ALL_CODE = ['contracts/', 'projections/', 'src/'];

/** The layers, with the packages that each one may import. */
export const LAYERS: Layer[] = [
  { place: 'contracts/', may: ['contracts/', 'zod'] },
  {
    place: 'src/domain/',
    may: ['src/domain/', 'contracts/moves.ts'],
    types: ['contracts/events/'],
  },
  { place: 'src/ports/', may: [], types: ['contracts/events/', 'src/ports/'] },
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
      'uqr',
      'node:',
      'src/ports/event-log.ts',
      'src/ports/read-model.ts',
    ],
    types: ['src/ports/', 'src/domain/', 'pino'],
  },
  { place: SHARED, may: [SHARED, 'src/ports/', 'contracts/events/', 'node:'] },
  driver('delivery', 'zod', 'ipaddr.js', 'standardwebhooks', 'nodemailer', 'postal-mime'),
  driver('eventstoredb', '@eventstore/db-client'),
  driver('memory'),
  driver('redis', 'ioredis'),
  driver('sqlite', 'contracts/events/'),
  driver('system', '@prometheus-io/client'),
  { place: 'src/config.ts', may: ['contracts/', 'src/config/', 'zod'] },
  { place: 'src/config/', may: ['contracts/', 'zod'] },
  {
    place: 'src/demo/',
    may: ['src/demo/', 'src/app/', 'contracts/', 'src/ports/', 'zod', 'node:'],
    types: ['src/domain/', 'src/main.ts'],
  },
  // The wiring imports every layer, but no package of a driver.
  { place: 'src/wiring/', may: [...ALL_CODE, 'node:', 'pino'], types: ['fastify'] },
  { place: 'src/core.ts', may: ALL_CODE, types: ['pino'] },
  { place: 'src/main.ts', may: ALL_CODE, types: ['fastify'] },
  { place: 'src/cli.ts', may: ['src/', 'commander'] },
  {
    place: 'src/cli/',
    may: [...ALL_CODE, 'commander', 'pino', 'zod', 'node:'],
    types: ['fastify'],
  },
];

/** Whether a name of the table covers a path or a package, with the paths below it. */
const covers = (name: string, path: string): boolean => {
  if (name.endsWith('*')) {
    const folder = name.slice(0, -1);
    return path.startsWith(folder) && !path.slice(folder.length).includes('/');
  }
  if (/[/:]$/.test(name)) return path.startsWith(name);
  return path === name || path.startsWith(`${name}/`);
};

/** Describes each file outside all layers, and each import that its file's layer does not allow. */
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

/** Forbidden code, and what to write instead. */
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
