/** A command acts on the directory that it was given, and its token goes to no stranger. */
import { copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeServerFile } from '#src/cli/service/server-file.ts';
import { json, killAll, lastLine, run, serve, type Server } from '../../support/clients/cli.ts';
import { directories } from '../../support/processes/directories.ts';

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

/** A server replaces its marks while it runs: a file may be gone between the listing and its copy. */
const copiedIfThere = (from: string, to: string): void => {
  try {
    copyFileSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
};
const copied = (): string => {
  const copy = directory.fresh();
  for (const entry of readdirSync(data, { withFileTypes: true, recursive: true })) {
    const to = join(entry.parentPath.replace(data, copy), entry.name);
    if (entry.isDirectory()) mkdirSync(to, { recursive: true });
    else copiedIfThere(join(entry.parentPath, entry.name), to);
  }
  return copy;
};
const agentsIn = async (folder: string): Promise<unknown[]> =>
  (await json<{ data: unknown[] }>('access', 'list', '--owner', 'acme', '--data', folder)).data;

describe('a copy of the directory of a server that runs', () => {
  it('has no server, and what is done to it is done to it alone', async () => {
    const copy = copied();
    expect(existsSync(join(copy, 'server.json'))).toBe(true);
    const status = await run('status', '--json', '--data', copy);
    expect(status.code).toBe(3);
    expect(lastLine(status.stdout)).toMatchObject({ running: false, data: copy });
    await json('access', 'request', ...REQUEST, '--data', copy);
    expect(await agentsIn(copy)).toHaveLength(1);
    expect(await agentsIn(data)).toEqual([]);
  });

  it('can be verified while the server runs', async () => {
    expect(await json('log', 'verify', '--data', copied())).toMatchObject({ intact: true });
    expect((await run('log', 'verify', '--data', data)).code).toBe(3);
  });
});

describe('a port that another program has by now', () => {
  it('is sent nothing but a look', async () => {
    const seen: IncomingHttpHeaders[] = [];
    const stranger = createServer((request, response) => {
      seen.push(request.headers);
      response.end(JSON.stringify({ status: 'live', instance: 'another' }));
    });
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
    const folder = directory.fresh();
    await json('access', 'request', ...REQUEST, '--data', folder);
    const url = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
    writeServerFile(folder, { url, pid: process.pid, instance: 'ended' });
    expect(await agentsIn(folder)).toHaveLength(1);
    stranger.close();
    expect(seen).not.toHaveLength(0);
    for (const { authorization } of seen) expect(authorization).toBeUndefined();
  });
});
