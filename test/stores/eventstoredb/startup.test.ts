/** Startup: the error for a server that cannot be used says what to check. */
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { Server as GrpcServer, ServerCredentials } from '@grpc/grpc-js';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { eventStoreLog } from '#src/stores/eventstoredb/event-log.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { NO_STREAM } from '#src/ports/event-log.ts';
import { TIMING } from '#src/stores/eventstoredb/failures.ts';
import { certificateFor } from '../../support/processes/certificate.ts';
import { directories } from '../../support/processes/directories.ts';
import { freePort } from '../../support/processes/free-port.ts';
import { standIn } from '../../support/eventstoredb/start.ts';
import { onStandIn } from '../../support/eventstoredb/eventstoredb-logs.ts';
import { importsOf, sourceFiles } from '../../support/source/tree.ts';
import { several } from '../../conformance/log-events.ts';

const { server, log: open } = onStandIn();
const temporary = directories('eventstoredb-startup-');
afterAll(temporary.removeAll);

const others: { close(): unknown }[] = [];
afterEach(() => {
  for (const other of others.splice(0)) other.close();
});
const listening = async (other: Server): Promise<number> => {
  others.push(other);
  await once(other.listen(0, '127.0.0.1'), 'listening');
  return (other.address() as AddressInfo).port;
};

/** The text of the StartupError; fails when the log opens. Waits long enough for a busy machine. */
const refusal = async (url: string, startupMs = 1_500): Promise<string> => {
  const error = await eventStoreLog({ url, timing: { startupMs, retryMs: [1, 20] } }).catch(
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StartupError);
  return (error as Error).message;
};

describe('The startup error', () => {
  test('The startup error names the address when no server runs there', async () => {
    const port = await freePort();
    expect(await refusal(`esdb://127.0.0.1:${port}?tls=false`)).toMatch(
      new RegExp(`127.0.0.1:${port} does not answer .*Check that it runs.*tls=false`),
    );
  });

  test('The startup error occurs within five seconds with default settings when the server is silent', async () => {
    const port = await listening(createServer(() => {}));
    const error = await eventStoreLog({ url: `esdb://127.0.0.1:${port}?tls=false` }).catch(
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(StartupError);
    expect(TIMING.startupMs).toBeLessThan(5_000);
  });

  test('The startup error says what to check when the server is a web server', async () => {
    const port = await listening(createHttpServer((_, response) => response.end('hello')));
    expect(await refusal(`esdb://127.0.0.1:${port}?tls=false`)).toMatch(/Check/);
  });

  test('The startup error says that another gRPC service is not EventStoreDB', async () => {
    const grpc = new GrpcServer();
    others.push({ close: () => grpc.forceShutdown() });
    const port = await new Promise<number>((resolve, reject) => {
      grpc.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      );
    });
    const text = await refusal(`esdb://127.0.0.1:${port}?tls=false`);
    expect(text).toMatch(/is not EventStoreDB.*Check host and port/);
  });

  test('The startup error names tls=false when the server has no TLS', async () => {
    const text = await refusal(`esdb://localhost:${server().port}`);
    expect(text).toMatch(/does not answer.*tls=false if, and only if/);
  });

  test('The startup error names the missing right when the user may not read $all, or nothing at all', async () => {
    await server().tell({ name: 'set', settings: { all: false } });
    expect(await refusal(server().url)).toMatch(/denies this user.*may read \$all/);
    await server().tell({ name: 'fault', on: 'read', fault: { do: 'deny' }, times: 9 });
    expect(await refusal(server().url)).toMatch(/denies this user.*Check user and password/);
  });

  test('The startup error names the certificate when it is self-signed or for another host', async () => {
    const port = await listening(createTlsServer(certificateFor('localhost'), () => {}));
    const advice = /certificate that is not trusted.*Check that tlsCAFile.*issued for this host/;
    expect(await refusal(`esdb://localhost:${port}`)).toMatch(advice);
    const file = join(temporary.fresh(), 'ca.crt');
    const { key, cert } = certificateFor('db.example');
    writeFileSync(file, cert);
    const other = await listening(createTlsServer({ key, cert }, () => {}));
    expect(await refusal(`esdb://localhost:${other}?tlsCAFile=${file}`)).toMatch(advice);
  });

  test('The startup error names the version when it is too old', async () => {
    await server().tell({ name: 'set', settings: { version: '22.10.5.0' } });
    expect(await refusal(server().url)).toMatch(/version 22\.10\.5\.0; 23\.10 is needed/);
    for (const version of ['unknown', '0.0.0.0', '23.10.0', '26.0.1.0-lts']) {
      await server().tell({ name: 'set', settings: { version } });
      await open();
    }
  });

  test('The startup error does not occur when this process is too busy to read the answer in time', async () => {
    const startupMs = 500;
    const opening = open({ startupMs });
    const busyUntil = performance.now() + 2 * startupMs;
    while (performance.now() < busyUntil);
    expect((await opening).id).toMatch(/^[0-9a-f]{32}$/);
  });

  test('The startup error does not occur when the server becomes available in time', async () => {
    await server().tell({ name: 'fault', on: 'read', fault: { do: 'unavailable' }, times: 5 });
    await open();
  });
});

describe('An unusable URL', () => {
  test.each([
    ['esdb://anna:s3cret@', /is not esdb/],
    ['http://anna:s3cret@localhost', /is not esdb/],
    ['esdb://anna:s3cret@localhost?tsl=false', /option tsl .*not supported/],
    ['esdb://anna:s3cret@localhost?tlsVerifyCert=false', /option tlsVerifyCert/],
    ['esdb://anna:s3cret@localhost?throwOnAppendFailure=false', /option throwOnAppendFailure/],
    ['esdb://anna:s3cret@localhost?tls=perhaps', /is not esdb/],
    ['esdb://anna:s3cret@localhost?tlsCAFile=/nowhere', /certificate file.*Check the files/],
  ])('An unusable URL is refused without its password: %s', async (url, reason) => {
    const text = await refusal(url);
    expect(text).toMatch(reason);
    expect(text).not.toContain('s3cret');
  });
});

describe('A cluster', () => {
  test('A cluster is used through its leader, found by gossip, even after the leader changes', async () => {
    const cluster = await standIn({ nodes: 2 });
    const [one = 0, two = 0] = cluster.ports;
    const lead = (leader: number, other: number): Promise<void> =>
      cluster.tell({ name: 'set', settings: { leader, nodes: [leader, other] } });
    await lead(two, one);
    const log = await open({}, { url: `esdb+discover://127.0.0.1:${one}?tls=false` });
    await log.append('anna-lead_1', NO_STREAM, several(1));
    await cluster.tell({ name: 'fault', on: 'append', fault: { do: 'end', written: true } });
    await log.append('anna-lead_9', NO_STREAM, several(1));
    // Now the other node leads, and this one refuses calls that require the leader.
    await lead(one, two);
    expect(await log.append('anna-lead_2', NO_STREAM, several(1))).toMatchObject({ revision: 0 });
    await lead(two, one);
    expect(await log.readStream('anna-lead_2')).toHaveLength(1);
    expect(await log.append('anna-lead_3', NO_STREAM, several(1))).toMatchObject({ revision: 0 });
    await log.close();
    await cluster.kill();
  });

  test('A cluster stores every append once while its leader changes twenty times', async () => {
    const cluster = await standIn({ nodes: 2 });
    const [one = 0, two = 0] = cluster.ports;
    const url = `esdb+discover://127.0.0.1:${one}?tls=false`;
    const lead = (leader: number, other: number): Promise<void> =>
      cluster.tell({ name: 'set', settings: { leader, nodes: [leader, other] } });
    await lead(one, two);
    const log = await open({}, { url });
    let stored = 0;
    let done = false;
    const writer = async (w: number): Promise<number> => {
      let n = 0;
      for (; !done; n += 1) {
        const result = await log.append(`anna-lead_${w}-${n}`, NO_STREAM, several(1));
        expect(result).toMatchObject({ outcome: 'appended', revision: 0 });
        stored += 1;
      }
      return n;
    };
    const writers = Array.from({ length: 8 }, (_, w) => writer(w));
    for (let change = 0; change < 20; change += 1) {
      const before = stored;
      await lead(change % 2 ? one : two, change % 2 ? two : one);
      while (stored < before + 16) await cluster.stats();
    }
    done = true;
    const written = (await Promise.all(writers)).reduce((sum, n) => sum + n, 0);
    expect(await log.readFold({ after: 0, limit: 2 * written })).toHaveLength(written);
    await log.close();
    await cluster.kill();
  });
});

describe('The log in EventStoreDB', () => {
  test('The log in EventStoreDB has the same identity when it is opened again, and another after a reset', async () => {
    const both = await Promise.all([open(), open()]);
    expect(both[0]?.id).toMatch(/^[0-9a-f]{32}$/);
    expect(both[1]?.id).toBe(both[0]?.id);
    await server().tell({ name: 'reset' });
    expect((await open()).id).not.toBe(both[0]?.id);
  });

  test('The log in EventStoreDB is the only module that loads the client', () => {
    const loads = sourceFiles('src', 'projections').filter(
      (file) =>
        !file.path.startsWith('src/stores/eventstoredb/') &&
        importsOf(file).some(
          ({ from, typeOnly, late }) =>
            !typeOnly && !late && /eventstoredb\/|@eventstore/.test(from),
        ),
    );
    expect(loads.map(({ path }) => path)).toEqual([]);
  });
});
