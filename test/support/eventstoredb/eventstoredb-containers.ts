/** Official server images, if docker is available. */
import { existsSync } from 'node:fs';
import { env } from 'node:process';
import { freePort } from '../processes/free-port.ts';

export type Container = { url: string; restart(): Promise<void>; stop(): Promise<void> };

const PORT = 2_113;

/** The newest long-term support release of each licence, pinned. */
export const IMAGES = [
  { image: 'eventstore/eventstore:23.10.7-bookworm-slim', prefix: 'EVENTSTORE' },
  { image: 'docker.kurrent.io/kurrent-lts/kurrentdb:26.0.3', prefix: 'KURRENTDB' },
] as const;

/** The reason why containers are unavailable; null when they are available. */
export const noDocker = async (): Promise<string | null> => {
  if (!env['DOCKER_HOST'] && !existsSync('/var/run/docker.sock')) return 'docker is not installed';
  const { getContainerRuntimeClient } = await import('testcontainers');
  return getContainerRuntimeClient().then(
    () => null,
    () => 'docker does not answer',
  );
};

export const container = async ({ image, prefix }: (typeof IMAGES)[number]): Promise<Container> => {
  const { GenericContainer, Wait } = await import('testcontainers');
  // A fixed port: docker would choose another one after each restart.
  const port = await freePort();
  const settings = {
    CLUSTER_SIZE: '1',
    INSECURE: 'true',
    RUN_PROJECTIONS: 'None',
    TELEMETRY_OPTOUT: 'true',
  };
  const environment = Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [`${prefix}_${name}`, value]),
  );
  const started = await new GenericContainer(image)
    .withEnvironment(environment)
    .withExposedPorts({ container: PORT, host: port })
    .withWaitStrategy(Wait.forHttp('/health/live', PORT).forStatusCode(204))
    .withStartupTimeout(180_000)
    .start();
  return {
    url: `esdb://${started.getHost()}:${port}?tls=false`,
    restart: () => started.restart({ timeout: 10_000 }),
    stop: async () => void (await started.stop()),
  };
};
