/**
 * Writes build/sbom.cdx.json, the bill of materials of the packages that run in production (CycloneDX). Fails unless it has each
 * of them that package-lock.json installs, with checksum and licence.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const OUTPUT = 'build/sbom.cdx.json';
const PACKAGES = 'node_modules/';

const component = z.looseObject({
  'bom-ref': z.string(),
  purl: z.string().startsWith('pkg:npm/'),
  hashes: z
    .array(
      z.looseObject({ alg: z.literal('SHA-512'), content: z.string().regex(/^[0-9a-f]{128}$/) }),
    )
    .min(1),
  licenses: z.array(z.looseObject({})).min(1),
});

const materials = z.looseObject({
  bomFormat: z.literal('CycloneDX'),
  specVersion: z.string().regex(/^1\.\d$/),
  metadata: z.looseObject({
    component: z.looseObject({ name: z.string(), 'bom-ref': z.string() }),
  }),
  components: z.array(z.looseObject({ name: z.string(), version: z.string() })),
  dependencies: z.array(z.looseObject({ ref: z.string(), dependsOn: z.array(z.string()) })),
});

const lockFile = z.object({
  packages: z.record(
    z.string(),
    z.object({
      name: z.string().optional(),
      version: z.string().optional(),
      dev: z.boolean().optional(),
      devOptional: z.boolean().optional(),
    }),
  ),
});

/** Lists `name@version` of the packages that `npm ci --omit=dev` installs. */
const installed = (): Set<string> => {
  const { packages } = lockFile.parse(JSON.parse(readFileSync(`${ROOT}package-lock.json`, 'utf8')));
  const found = new Set<string>();
  for (const [path, { name, version, dev, devOptional }] of Object.entries(packages)) {
    if (!path.startsWith(PACKAGES) || dev || devOptional) continue;
    const own = path.slice(path.lastIndexOf(PACKAGES) + PACKAGES.length);
    found.add(`${name ?? own}@${version}`);
  }
  return found;
};

// With --omit=dev, npm leaves out packages that both development and production need.
const args = ['sbom', '--package-lock-only', '--sbom-format=cyclonedx'];
const { status, stdout, stderr } = spawnSync('npm', args, { cwd: ROOT, encoding: 'utf8' });
if (status !== 0) throw new Error(`npm sbom failed:\n${stderr}`);
const bom = materials.parse(JSON.parse(stdout));
// npm takes the name of the directory.
bom.metadata.component.name = 'tributary';
const production = installed();
const nameOf = (each: { name: string; version: string }): string => `${each.name}@${each.version}`;
bom.components = bom.components.filter((each) => production.has(nameOf(each)));
const listed = new Set(bom.components.map(nameOf));
const missing = [...production.difference(listed)];
if (missing.length > 0) throw new Error(`npm sbom does not list ${missing.join(', ')}`);
const root = bom.metadata.component['bom-ref'];
const refs = new Set([root, ...bom.components.map((each) => component.parse(each)['bom-ref'])]);
bom.dependencies = bom.dependencies
  .filter(({ ref }) => refs.has(ref))
  .map((each) => ({ ...each, dependsOn: each.dependsOn.filter((ref) => refs.has(ref)) }));
mkdirSync(`${ROOT}build`, { recursive: true });
writeFileSync(ROOT + OUTPUT, `${JSON.stringify(bom, null, 2)}\n`);
