/** A command acts on its data directory only, and sends its token to no other program. */
import { existsSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeServerFile } from '#src/cli/service.ts';
import { json, killAll, lastLine, run, serve, type Server } from '../../support/clients/cli.ts';
import { copyOfLive, directories } from '../../support/processes/directories.ts';

const directory = directories('tributary-cli-copied-');
const REQUEST = ['--owner', 'acme', '--name', 'N', '--purpose', 'P', '--scopes', 'links:write'];
let data: string;
let server: Server;

beforeAll(async () => {
  data = directory.fresh();
  server = await serve(data);
});

afterAll(() => {
  killAll([server]);
  directory.removeAll();
});

const copyOfData = (): string => copyOfLive(data, directory.fresh());
const agentsIn = async (folder: string): Promise<unknown[]> =>
  (await json<{ data: unknown[] }>('access', 'list', '--owner', 'acme', '--data', folder)).data;

describe('A copy of the data directory of a running server', () => {
  it('A copy of the data directory of a running server has no server, and a write to it does not reach the server', async () => {
    const copy = copyOfData();
    expect(existsSync(join(copy, 'server.json'))).toBe(true);
    const status = await run('status', '--json', '--data', copy);
    expect(status.code).toBe(3);
    expect(lastLine(status.stdout)).toMatchObject({ running: false, data: copy });
    await json('access', 'request', ...REQUEST, '--data', copy);
    expect(await agentsIn(copy)).toHaveLength(1);
    expect(await agentsIn(data)).toEqual([]);
  });

  it('A copy of the data directory of a running server can be verified while the server runs', async () => {
    expect(await json('log', 'verify', '--data', copyOfData())).toMatchObject({ intact: true });
    expect((await run('log', 'verify', '--data', data)).code).toBe(3);
  });
});

describe('A program that listens on the port of a stopped server', () => {
  it('A program that listens on the port of a stopped server receives no credential', async () => {
    const seen: IncomingHttpHeaders[] = [];
    const program = createServer((request, response) => {
      seen.push(request.headers);
      response.end(JSON.stringify({ status: 'live', instance: 'another' }));
    });
    await new Promise<void>((resolve) => program.listen(0, '127.0.0.1', resolve));
    const folder = directory.fresh();
    await json('access', 'request', ...REQUEST, '--data', folder);
    const url = `http://127.0.0.1:${(program.address() as AddressInfo).port}`;
    writeServerFile(folder, { url, pid: process.pid, instance: 'ended' });
    expect(await agentsIn(folder)).toHaveLength(1);
    program.close();
    expect(seen).not.toHaveLength(0);
    for (const { authorization } of seen) expect(authorization).toBeUndefined();
  });
});
