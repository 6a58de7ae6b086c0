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
 * A rule for imports: what files of a place may import; `types` as types only. A place is a file, a folder with all
 * below it (`a/`), the files of a folder itself (`a/*`), or the files below it whose names end so (`a/**.b.ts`).
 */
export type Layer = { place: string; may: string[]; types?: string[] };

/**
 * The order of the capabilities: a use case may call those of its own folder and of the folders before it. Deciders come
 * before all of them, and pages after all of them, whatever their folder.
 */
export const ORDER = [
  'writing',
  'calls',
  'reading',
  'sealing',
  'sending',
  'catalog',
  'owners',
  'access',
  'people',
  'repairs',
  'plans',
  'leads',
  'links',
  'handoffs',
  'privacy',
  'outreach',
  'tasks',
  'performance',
  'records',
  'proof',
  'audits',
  'transfer',
];

const DECIDERS = 'src/**.decider.ts';
const PAGES = 'src/**.pages.ts';
const CAPABILITIES = ORDER.map((name) => `src/${name}/`);
const BELOW_CAPABILITIES = ['contracts/', 'src/ports/', 'src/shared/', DECIDERS];

/** Files that several stores share. */
const STORES = 'src/stores/*';
/** The folder of a store, which other stores may not import. */
const store = (name: string, ...packages: string[]): Layer => {
  const own = `src/stores/${name}/`;
  return { place: own, may: [own, STORES, 'src/system/', 'src/ports/', 'node:', ...packages] };
};

const ALL_CODE = ['contracts/', 'projections/', 'src/'];

/** The import rules of the use cases, one for each capability. */
const CAPABILITY_LAYERS: Layer[] = CAPABILITIES.map((place, index) => ({
  place,
  may: [
    ...CAPABILITIES.slice(0, index + 1),
    ...BELOW_CAPABILITIES,
    'zod',
    'isbot',
    '@simplewebauthn/server',
    'node:crypto',
    'node:zlib',
  ],
}));

/** The import rules, with the packages that each place may import. The first place that covers a file counts. */
export const LAYERS: Layer[] = [
  { place: 'contracts/', may: ['contracts/', 'zod'] },
  { place: 'src/ports/', may: [], types: ['contracts/', 'src/ports/'] },
  {
    place: 'src/shared/',
    may: ['src/shared/', 'src/ports/', 'contracts/', 'canonicalize', 'node:crypto'],
    types: ['zod'],
  },
  { place: DECIDERS, may: [DECIDERS, 'src/shared/', 'contracts/moves.ts'], types: ['contracts/'] },
  {
    place: 'projections/',
    may: ['projections/', 'contracts/registries/events.ts', DECIDERS, 'src/ports/', 'node:'],
  },
  {
    place: PAGES,
    may: [
      PAGES,
      'src/web/',
      ...CAPABILITIES,
      ...BELOW_CAPABILITIES,
      'hono/',
      'uqr',
      'node:crypto',
      'node:zlib',
    ],
    types: ['src/registries/', 'fastify'],
  },
  ...CAPABILITY_LAYERS,
  {
    place: 'src/registries/',
    may: ['src/registries/', ...CAPABILITIES, ...BELOW_CAPABILITIES],
    types: ['zod'],
  },
  {
    place: 'src/web/',
    may: [
      'src/web/',
      'src/writing/',
      'src/calls/',
      'src/reading/',
      'src/shared/',
      'contracts/',
      'fastify',
      '@fastify/',
      'hono/',
      'zod',
      'node:',
    ],
    types: ['src/registries/', 'src/ports/', 'pino'],
  },
  {
    place: 'src/interfaces/',
    may: [
      'src/interfaces/',
      'src/web/',
      PAGES,
      'src/registries/',
      ...CAPABILITIES,
      'src/shared/',
      'contracts/',
      'fastify',
      '@fastify/',
      'zod',
      'openapi3-ts',
      'hono/',
      'node:',
    ],
    types: ['src/ports/', DECIDERS, 'pino'],
  },
  { place: STORES, may: [STORES, 'src/ports/', 'contracts/registries/events.ts', 'node:'] },
  store('eventstoredb', 'contracts/registries/events.ts', '@eventstore/db-client'),
  store('redis', 'ioredis'),
  store('sqlite', 'contracts/registries/events.ts'),
  { place: 'src/system/', may: ['src/system/', 'src/ports/', 'node:', '@prometheus-io/client'] },
  {
    place: 'src/delivery/',
    may: [
      'src/delivery/',
      'src/ports/',
      'node:',
      'zod',
      'ipaddr.js',
      'standardwebhooks',
      'nodemailer',
      'postal-mime',
      'openid-client',
    ],
  },
  { place: 'src/config.ts', may: ['contracts/', 'src/ports/startup-error.ts', 'zod'] },
  {
    place: 'src/demo/',
    may: ['src/demo/', ...CAPABILITIES, ...BELOW_CAPABILITIES, 'zod', 'node:'],
    types: ['src/main.ts'],
  },
  // The wiring imports every place, but no package of a store or channel.
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
  const [folder = '', ending] = name.split('**');
  if (ending !== undefined) return path.startsWith(folder) && path.endsWith(ending);
  if (name.endsWith('*')) {
    const own = name.slice(0, -1);
    return path.startsWith(own) && !path.slice(own.length).includes('/');
  }
  if (/[/:]$/.test(name)) return path.startsWith(name);
  return path === name || path.startsWith(`${name}/`);
};

/** As `covers`, but the folder of a capability does not give its pages, which come after all capabilities. */
const allows = (name: string, path: string): boolean =>
  path.endsWith('.pages.ts') ? name === PAGES || name === 'src/' : covers(name, path);

/** Describes each file outside all layers, and each import that its file's layer does not allow. */
export const layerFaults = (files: readonly SourceFile[]): string[] =>
  files.flatMap((file) => {
    const layer = LAYERS.find(({ place }) => covers(place, file.path));
    if (!layer) return [`${file.path} is in no place of the import rules`];
    return importsOf(file).flatMap(({ from, typeOnly }) => {
      const allowed = [...layer.may, ...(typeOnly ? (layer.types ?? []) : [])];
      if (allowed.some((name) => allows(name, from))) return [];
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
  { pattern: /\bDate\.now\(/, instead: 'the clock', except: /^src\/system\// },
  { pattern: /\bnew Date\(\)/, instead: 'the clock', except: /^src\/system\// },
  { pattern: /\brandomUUID\(/, instead: 'ids', except: /^src\/system\// },
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
