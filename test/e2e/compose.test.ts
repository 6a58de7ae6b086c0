/** The deployment that `make up` starts: containers of the service, EventStoreDB, Redis, Prometheus and Grafana. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { StartedDockerComposeEnvironment } from 'testcontainers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noDocker } from '../support/eventstoredb/eventstoredb-containers.ts';
import { agentKey } from '../support/processes/child-service.ts';
import { ask } from '../support/processes/remote.ts';
import { ROOT } from '../support/source/tree.ts';

const noCompose = async (): Promise<string | null> =>
  (await noDocker()) ??
  (spawnSync('docker', ['compose', 'version']).status === 0
    ? null
    : 'docker compose is not installed');
const NO_DOCKER = await noCompose();
/** An image is built and five are pulled. */
const START_MS_MAX = 900_000;
const PORTS = { 'api-1': 3_000, 'api-2': 3_001, prometheus: 9_090, grafana: 3_300 };

const read = async (service: keyof typeof PORTS, path: string): Promise<Response> =>
  fetch(`http://127.0.0.1:${PORTS[service]}${path}`);

const ON_DOCKER = NO_DOCKER === null ? 'on docker' : `(skipped: ${NO_DOCKER})`;

describe.skipIf(NO_DOCKER !== null)(`The compose deployment, ${ON_DOCKER}`, () => {
  let deployment: StartedDockerComposeEnvironment;
  const run = (service: string, ...command: string[]) =>
    deployment.getContainer(`${service}-1`).exec(command);
  beforeAll(async () => {
    const { DockerComposeEnvironment } = await import('testcontainers');
    // Waits for the health check of each container that has one: both servers, and each role of the service.
    deployment = await new DockerComposeEnvironment(join(ROOT, 'infra'), 'compose.yaml')
      .withProjectName('tributary-test')
      .withEnvironment({ ROOT_KEY: Buffer.alloc(32, 9).toString('base64') })
      .withBuild()
      .withStartupTimeout(START_MS_MAX)
      .up();
  }, START_MS_MAX);
  afterAll(() => deployment?.down({ removeVolumes: true }));

  it('The compose deployment becomes ready, and serves on one process what another wrote', async () => {
    for (const api of ['api-1', 'api-2'] as const)
      await expect.poll(async () => (await read(api, '/readyz')).status).toBe(200);
    const { output } = await run('api-1', 'cat', '/data/desk.token');
    const [one, two] = [{ url: 'http://127.0.0.1:3000' }, { url: 'http://127.0.0.1:3001' }];
    const key = await agentKey({ ...one, deskToken: output.trim() }, 'acme', [two]);
    const body = { external_id: 'crm-1', company: { name: 'Shop', country: 'GB' } };
    const written = await ask(one, key, '/leads', { body, 'idempotency-key': 'lead-1' });
    expect(written.status, JSON.stringify(written.body)).toBe(201);
    const token = written.headers.get('consistency-token') ?? '';
    const listed = await ask(two, key, '/leads', { 'consistency-token': token });
    expect(JSON.stringify(listed.body)).toContain('crm-1');
  });

  it('The compose deployment is scraped by Prometheus in every role, and has its dashboard', async () => {
    const roles = async (): Promise<unknown> => {
      const answer = await read('prometheus', '/api/v1/targets?state=active');
      const { data } = (await answer.json()) as {
        data: { activeTargets: { health: string; labels: { role: string } }[] };
      };
      return data.activeTargets.map(({ health, labels }) => `${labels.role} ${health}`).toSorted();
    };
    await expect.poll(roles).toEqual(['api up', 'api up', 'dispatcher up', 'projector up']);
    const rules = await (await read('prometheus', '/api/v1/rules')).text();
    expect(rules).toContain('LogReplaced');
    expect((await read('grafana', '/api/dashboards/uid/tributary')).status).toBe(200);
  });

  it('The compose deployment copies its log into a directory, as a backup', async () => {
    const log = 'esdb://eventstore:2113?tls=false';
    const copy = ['./tributary', 'log', 'copy', log, 'sqlite:/tmp/backup', '--json'];
    const { exitCode, output } = await run('api-1', ...copy);
    expect(exitCode, output).toBe(0);
    expect(output).toContain('"verified":true');
  });
});
