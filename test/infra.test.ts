/** What stands in infra/, as far as it can be judged without docker. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { prometheusMetrics } from '#src/system/metrics.ts';
import { readConfig, requireRole, PROCESS_ROLES } from '#src/config.ts';
import { directories } from './support/processes/directories.ts';
import { ROOT } from './support/source/tree.ts';
import { readYaml } from './support/source/yaml.ts';

const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const yamlOf = (path: string) => readYaml(textOf(path));

/** Compose, as much of its specification as is used here; anything else is a mistake. */
const duration = z.string().regex(/^\d+(ms|s|m)$/);
const service = z.strictObject({
  image: z.string(),
  build: z.strictObject({ context: z.string(), dockerfile: z.string() }).optional(),
  command: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).optional(),
  ports: z.array(z.string().regex(/^127\.0\.0\.1:\d+:\d+$/)).optional(),
  volumes: z.array(z.string()).optional(),
  tmpfs: z.array(z.string()).optional(),
  read_only: z.boolean().optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
  restart: z.literal('unless-stopped').optional(),
  stop_grace_period: duration.optional(),
  healthcheck: z
    .strictObject({
      test: z.array(z.string()).min(2),
      interval: duration,
      timeout: duration,
      retries: z.int(),
    })
    .optional(),
  depends_on: z
    .record(z.string(), z.strictObject({ condition: z.literal('service_healthy') }))
    .optional(),
});
const compose = z
  .object({
    name: z.string(),
    services: z.record(z.string(), service),
    volumes: z.record(z.string(), z.null()),
  })
  .catchall(z.unknown())
  .parse(yamlOf('infra/compose.yaml'));
const services = Object.entries(compose.services);
const ours = services.filter(([, { image }]) => image === 'tributary');

/** A process's settings, with what compose takes from infra/.env. */
const settingsOf = ({ environment = {} }: z.infer<typeof service>): Record<string, string> => ({
  ...environment,
  ROOT_KEY: Buffer.alloc(32, 1).toString('base64'),
});

describe('compose.yaml', () => {
  it('`compose.yaml` runs two API processes, a projector and a dispatcher, in existing roles', () => {
    const roles = ours.map(([, { command = [] }]) => command.at(-1) ?? '');
    expect(roles.toSorted()).toEqual(['api', 'api', 'dispatcher', 'projector']);
    for (const [name, each] of ours) {
      expect(each.command?.slice(0, 2), name).toEqual(['serve', '--role']);
      const role = PROCESS_ROLES.find((known) => known === each.command?.[2]);
      if (!role) throw new Error(`${name} has a role that there is not`);
      requireRole(role, readConfig(settingsOf(each)));
    }
  });

  it('`compose.yaml` sets nothing that the service does not read', () => {
    const known = new Set(textOf('src/config.ts').match(/^ {2}[A-Z][A-Z_]+(?=:)/gm));
    const names = [...known].map((name) => name.trim());
    expect(names).toContain('EVENT_LOG_URL');
    for (const [name, { environment = {} }] of ours)
      for (const variable of Object.keys(environment)) expect(names, name).toContain(variable);
  });

  it('`compose.yaml` gives each process a writable place of its own, and nothing else', () => {
    for (const [name, { read_only, tmpfs, volumes }] of ours) {
      expect({ read_only, tmpfs }, name).toEqual({ read_only: true, tmpfs: ['/tmp'] });
      expect(volumes, name).toEqual(name === 'projector' ? undefined : [`${name}:/data`]);
    }
  });

  it('`compose.yaml` names only existing files, volumes and services', () => {
    for (const [name, { volumes = [], depends_on = {}, build }] of services) {
      for (const volume of volumes) {
        const [source = '', target = ''] = volume.split(':');
        expect(target, name).toMatch(/^\//);
        if (source.startsWith('.'))
          expect(existsSync(join(ROOT, 'infra', source)), source).toBe(true);
        else expect(compose.volumes, name).toHaveProperty(source);
      }
      for (const needed of Object.keys(depends_on))
        expect(compose.services[needed]?.healthcheck, needed).toBeDefined();
      if (build)
        expect(existsSync(join(ROOT, 'infra', build.context, build.dockerfile))).toBe(true);
    }
  });

  it('`compose.yaml` publishes no port twice, and of our services the ports they listen on', () => {
    const ports = services.flatMap(([, each]) => each.ports ?? []);
    const published = ports.map((port) => port.split(':')[1]);
    expect(new Set(published).size).toBe(published.length);
    const listens = /\bPORT=(\d+)/.exec(textOf('infra/Dockerfile'))?.[1];
    for (const [name, each] of ours)
      for (const port of each.ports ?? []) expect(port.split(':')[2], name).toBe(listens);
  });

  it('`compose.yaml` lets Redis throw nothing away', () => {
    const command = compose.services['redis']?.command ?? [];
    expect(command[command.indexOf('--maxmemory-policy') + 1]).toBe('noeviction');
  });
});

const scrape = z
  .object({
    scrape_configs: z.array(
      z.object({
        metrics_path: z.string(),
        static_configs: z.array(z.object({ targets: z.array(z.string()) })),
      }),
    ),
    rule_files: z.array(z.string()),
  })
  .loose();
const alerts = z.object({
  groups: z.array(
    z.object({ rules: z.array(z.object({ alert: z.string(), expr: z.string() }).loose()) }),
  ),
});
const dashboard = z.object({
  uid: z.string(),
  panels: z.array(
    z
      .object({
        title: z.string(),
        datasource: z.object({ uid: z.string() }).loose(),
        targets: z.array(z.object({ expr: z.string() }).loose()).min(1),
      })
      .loose(),
  ),
});

describe('what is watched', () => {
  const rules = alerts.parse(yamlOf('infra/prometheus/alerts.yaml')).groups.flatMap((g) => g.rules);
  const { panels } = dashboard.parse(JSON.parse(textOf('infra/grafana/tributary.json')));

  it('Prometheus scrapes every process where it serves its metrics', () => {
    const { scrape_configs: jobs } = scrape.parse(yamlOf('infra/prometheus/prometheus.yaml'));
    const targets = jobs.flatMap((job) => job.static_configs.flatMap((each) => each.targets));
    expect(targets.toSorted()).toEqual(ours.map(([name]) => `${name}:3000`).toSorted());
    expect(jobs.map((job) => job.metrics_path)).toEqual(['/metrics']);
  });

  it('Every query of the dashboard and the alerts names an exported metric, and each of our metrics is on the dashboard', async () => {
    const text = await prometheusMetrics().text([]);
    const exported = new Set([...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name ?? ''));
    const namesIn = (expr: string): string[] =>
      (expr.match(/\b(?:tributary|process|nodejs)_\w+/g) ?? []).map((name) =>
        name.replace(/_(?:bucket|sum|count)$/, ''),
      );
    const shown = panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => namesIn(expr)));
    const watched = rules.flatMap(({ expr }) => namesIn(expr));
    for (const name of [...shown, ...watched]) expect(exported).toContain(name);
    const own = [...exported].filter((name) => name.startsWith('tributary_'));
    expect(own.length).toBeGreaterThan(8);
    for (const name of own) expect(shown).toContain(name);
  });

  it('Each alert has its paragraph for the operator', () => {
    const page = textOf('infra/OPERATING.md');
    for (const { alert } of rules) expect(page).toContain(`**${alert}**`);
  });

  it('The dashboard reads the data source that is provisioned', () => {
    const uid = /uid: (\S+)/.exec(textOf('infra/grafana/datasources.yaml'))?.[1];
    for (const { title, datasource } of panels) expect(datasource.uid, title).toBe(uid);
  });
});

const temporary = directories('tributary-image-');
afterAll(temporary.removeAll);

/** Every file below, by its path. */
const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .toSorted();

/** The packages that `npm ci --omit=dev` brings, where this service looks for them. */
const linkPackages = (into: string): void => {
  const lock = JSON.parse(textOf('package-lock.json')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean }>;
  };
  for (const [path, { dev, devOptional }] of Object.entries(lock.packages)) {
    const isTop = path.startsWith('node_modules/') && !path.slice(1).includes('/node_modules/');
    if (!isTop || dev || devOptional || !existsSync(join(ROOT, path))) continue;
    mkdirSync(dirname(join(into, path)), { recursive: true });
    symlinkSync(join(ROOT, path), join(into, path));
  }
};

describe('the image', () => {
  const dockerfile = textOf('infra/Dockerfile');

  it('The image does not run as root, and checks its health where the service serves it', () => {
    expect(dockerfile).toMatch(/^USER node$/m);
    const health = /^HEALTHCHECK .*? CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? '';
    expect((JSON.parse(health) as string[])[2]).toContain('/livez`');
  });

  it('The image holds all that `serve` needs, and writes nothing beside its data', async () => {
    const [image, data, cache] = [temporary.fresh(), temporary.fresh(), temporary.fresh()];
    const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
    const ignored = textOf('.dockerignore');
    for (const [, copied = ''] of last.matchAll(/^COPY (?!--)(.+) \S+$/gm))
      for (const name of copied.split(' ')) {
        expect(ignored).toContain(`\n!${name}\n`);
        cpSync(join(ROOT, name), join(image, name), { recursive: true });
      }
    linkPackages(image);
    const before = filesBelow(image);
    const child = spawn(join(image, 'tributary'), ['serve', '--json'], {
      cwd: image,
      env: {
        PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
        NODE_ENV: 'production',
        PORT: '0',
        DATA_DIR: data,
        NODE_COMPILE_CACHE: cache,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (chunk) => (said += String(chunk)));
    const ended = once(child, 'exit');
    const ready = once(createInterface({ input: child.stdout }), 'line');
    const first = await Promise.race([ready, ended.then(() => undefined)]);
    if (!first) throw new Error(`it did not start:\n${said}`);
    const { url, port } = JSON.parse(String(first[0])) as { url: string; port: number };
    for (const path of ['/', '/docs', '/llms.txt', '/boundaries.json', '/readyz'])
      expect((await fetch(url + path)).status, path).toBe(200);
    const [command = '', ...args] = JSON.parse(
      /^HEALTHCHECK .*? CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? '[]',
    ) as string[];
    const healthy = spawn(command === 'node' ? process.execPath : command, args, {
      env: { PORT: String(port) },
    });
    expect((await once(healthy, 'exit'))[0]).toBe(0);
    child.kill('SIGTERM');
    expect((await ended)[0]).toBe(0);
    expect(filesBelow(image)).toEqual(before);
  });
});
