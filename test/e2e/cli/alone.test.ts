import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sqliteStore } from '#src/stores/sqlite/rows/read-model.ts';
import { writeServerFile } from '#src/cli/service.ts';
import { PARTITIONS, partitionOf } from '#src/ports/read-model.ts';
import type { Server } from '../../support/clients/cli.ts';
import {
  COMMAND,
  connection,
  ended,
  feed,
  HEADER,
  json,
  killAll,
  lastLine,
  run,
  serve,
  start,
} from '../../support/clients/cli.ts';
import { directories } from '../../support/processes/directories.ts';

const directory = directories('tributary-cli-alone-');
const servers: Server[] = [];
let data: string;
let server: Server;
const at = (): string[] => ['--data', data];

beforeAll(async () => {
  data = directory.fresh();
  server = await serve(data, '--demo');
  servers.push(server);
});

afterAll(() => {
  killAll(servers);
  directory.removeAll();
});

/** Changes the newest link of the demo as a fault of the fold would: its hash fits, and its campaign does not. Returns its id. */
const changeCampaign = async (file: string): Promise<string> => {
  const views = new DatabaseSync(file);
  const log = String(views.prepare('SELECT log FROM origin').get()?.['log']);
  views.close();
  const store = sqliteStore({ file, log });
  const space = store.live('links') ?? '';
  const scope = 'northwind';
  const [link] = store.list(space, { scope, limit: 1 });
  if (!link) throw new Error('the demo has no link');
  const partition = partitionOf(scope);
  const { checkpoint } = await store.digest(space, partition);
  const write = { ...link, scope, row: { ...link.row, campaign: 'other' } };
  await store.commit(space, [{ partition, from: checkpoint, to: checkpoint, writes: [write] }]);
  await store.close();
  return link.key;
};

describe('A server', () => {
  it('A server opens no inspector of Node on SIGUSR1', async () => {
    const own = await serve(directory.fresh());
    servers.push(own);
    const { pid, url } = own.ready;
    process.kill(pid, 'SIGUSR1');
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    const { code, stderr } = await own.stop();
    expect(code).toBe(0);
    expect(stderr).not.toContain('Debugger');
  });

  it('A server stops in order on SIGTERM, and commands work without it afterwards', async () => {
    const { code, stdout } = await server.stop();
    expect(code).toBe(0);
    expect(lastLine(stdout)).toMatchObject({ stopped: true });
    expect(existsSync(join(data, 'server.json'))).toBe(false);

    const status = await run('status', '--json', ...at());
    expect(status.code).toBe(3);
    expect(lastLine(status.stdout)).toMatchObject({ running: false });
    const { stdout: agents } = await run('access', 'list', '--owner', 'harbour', ...at());
    expect(agents).toContain('Shop concierge');
    const file = feed(data, 'later.csv', `${HEADER}L-1,Later,1.00 GBP,in_stock\n`);
    expect(await json('catalog', 'import', file, ...at())).toMatchObject({ new: 1 });
    expect(await json('log', 'verify', ...at())).toMatchObject({ intact: true });
    expect(await json('projections', 'rebuild', ...at())).toHaveProperty('rebuilt');
    expect(await json('projections', 'verify', ...at())).toMatchObject({ equal: true });
  });

  it('A server has the same keys after a restart, and does not print its desk token again', async () => {
    const next = await serve(data, '--demo');
    servers.push(next);
    expect(next.ready.api_key).toBe(server.ready.api_key);
    expect(next.ready.desk_token).toBeNull();
    expect(readFileSync(join(data, 'desk.token'), 'utf8').trim()).toBe(server.ready.desk_token);
    expect(await connection(next.ready.url, next.ready.api_key)).toBe(200);
    await next.stop('SIGKILL');
    // server.json still names the killed process.
    expect(existsSync(join(data, 'server.json'))).toBe(true);
    expect((await run('status', ...at())).stderr).toContain('No server runs');
    const { code } = await run('events', 'tail', '--limit', '1', ...at());
    expect(code).toBe(0);
  });

  it('`projections verify` needs no server, and finds rows that differ from the log', async () => {
    const id = await changeCampaign(join(data, 'views.db'));
    const { code, stdout, stderr } = await run('projections', 'verify', '--json', ...at());
    expect(code).toBe(4);
    expect(stderr).toContain('different from the log');
    expect(lastLine(stdout)).toMatchObject({ equal: false });
    const audit = await run('audit', 'check', '--owner', 'northwind', ...at());
    expect([audit.code, audit.stdout + audit.stderr]).toEqual([
      4,
      expect.stringContaining(`links northwind/${id} differs`),
    ]);
    await json('projections', 'rebuild', ...at());
    expect(await json('projections', 'verify', ...at())).toMatchObject({ equal: true });
  });

  it('A damaged row is filled again without a server, and `projections verify` asks for no rebuild', async () => {
    const views = new DatabaseSync(join(data, 'views.db'));
    const part = `max(id) * ${PARTITIONS} + ${partitionOf('northwind')}`;
    const links = `SELECT ${part} FROM spaces WHERE space LIKE 'links@%'`;
    views.exec(`UPDATE rows SET hash = hash + 1 WHERE part = (${links})`);
    views.close();
    const { code, stderr } = await run('projections', 'verify', ...at());
    expect(code).toBe(4);
    expect(stderr).toMatch(/not compared: .*verify again/);
    expect(stderr).not.toContain('Rebuild');
    expect(await json('projections', 'verify', ...at())).toMatchObject({ equal: true });
  });
});

describe('The command line', () => {
  it('The command line exits with status 2 and says why when a command is not valid', async () => {
    const [unknown, missing, number, unset, nothing, help] = await Promise.all([
      run('conquer'),
      run('key', 'revoke', 'a1B2c3D4e5F6'),
      run('serve', '--port', 'http'),
      run('serve', '--port', '0', '--data', ''),
      run(),
      run('--help'),
    ]);
    const codes = [unknown, missing, number, unset, nothing].map(({ code }) => code);
    expect(codes).toEqual([2, 2, 2, 2, 2]);
    expect(unset.stderr).toContain('It must name a directory');
    expect(missing.stderr).toContain('--reason');
    expect(help.code).toBe(0);
    expect(help.stdout).toContain('Exit status:');
  });

  it('The command line prints the same help for `help COMMAND` as for `COMMAND --help`, with required flags in the usage', async () => {
    const [help, words, flag, none] = await Promise.all([
      run('help'),
      run('help', 'access', 'approve'),
      run('access', 'approve', '--help'),
      run('help', 'conquer'),
    ]);
    expect([help.code, words.code, none.code]).toEqual([0, 0, 2]);
    expect(help.stdout).toContain('Exit status:');
    expect(words.stdout).toBe(flag.stdout);
    expect(words.stdout).toContain('approve --reason <text> [options] <agent>');
    expect(words.stdout).toMatch(/-r, --reason <text> +\S.* \(required\)/);
  });

  it('The command line exits with status 5 and says how to repeat the command when a server closes the connection', async () => {
    const fake = createServer((request, response) => {
      if (request.url === '/livez') response.end(JSON.stringify({ instance: 'fake' }));
      else request.socket.destroy();
    });
    await new Promise<void>((resolve) => fake.listen(0, '127.0.0.1', resolve));
    const folder = directory.fresh();
    const url = `http://127.0.0.1:${(fake.address() as AddressInfo).port}`;
    writeServerFile(folder, { url, pid: process.pid, instance: 'fake' });
    writeFileSync(join(folder, 'desk.token'), 'trbd_none');
    const asked = ['catalog', 'withdraw', 'T-1', '--reason', 'x', '--data', folder];
    const { code, stderr } = await run(...asked, '--yes', '--idempotency-key', 'again-1');
    fake.close();
    expect(code).toBe(5);
    expect(stderr).toContain('repeat it with --idempotency-key again-1');
  });

  it('The command line prints how many products an interrupted import has appended at least', async () => {
    const reached = Promise.withResolvers<void>();
    const fake = createServer((request, response) => {
      if (request.url === '/livez') response.end(JSON.stringify({ instance: 'fake' }));
      else reached.resolve();
    });
    await new Promise<void>((resolve) => fake.listen(0, '127.0.0.1', resolve));
    const folder = directory.fresh();
    const url = `http://127.0.0.1:${(fake.address() as AddressInfo).port}`;
    writeServerFile(folder, { url, pid: process.pid, instance: 'fake' });
    writeFileSync(join(folder, 'desk.token'), 'trbd_none');
    const file = feed(directory.fresh(), 'off.csv', `${HEADER}O-1,Off,1.00 GBP,in_stock\n`);
    const child = start(['catalog', 'import', file, '--data', folder]);
    const end = ended(child);
    await reached.promise;
    child.kill('SIGINT');
    const { stderr } = await end;
    fake.closeAllConnections();
    fake.close();
    expect(stderr).toContain('off.csv, at least 0 new, 0 changed. Run the same command again');
  });

  it('The command line works through a symbolic link, from another folder, with a relative --data', async () => {
    const folder = directory.fresh();
    const child = spawn(
      'sh',
      [
        '-c',
        `ln -s '${COMMAND}' t && ./t access request --owner acme --name N --purpose P --scopes links:write --data in`,
      ],
      {
        cwd: folder,
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    expect(await ended(child)).toMatchObject({ code: 0 });
    expect(readFileSync(join(folder, 'in/desk.token'), 'utf8')).toMatch(/^trbd_/);
  });

  it('The command line creates no data directory for a command that only reads', async () => {
    const folder = join(directory.fresh(), 'mistyped');
    const { code, stderr } = await run('projections', 'status', '--data', folder);
    expect(code).toBe(3);
    expect(stderr).toContain('holds no Tributary data');
    expect(stderr).toContain(`./tributary serve --data ${folder}`);
    expect(existsSync(folder)).toBe(false);
  });

  it.each([
    ['a dry run', ['--dry-run'], 0],
    ['a strict dry run', ['--dry-run', '--strict'], 4],
    ['a strict import of a file with a bad line', ['--strict'], 1],
  ] as const)('The command line creates no data directory for %s', async (_what, flags, status) => {
    const [folder, empty] = [join(directory.fresh(), 'new'), directory.fresh()];
    const bad = status === 0 ? '' : 'D-2,Bad,free,in_stock\n';
    const text = `${HEADER}D-1,Dry,1.00 GBP,in_stock\n${bad}`;
    const file = feed(directory.fresh(), 'dry.csv', text);
    for (const data of [folder, empty]) {
      const { code, stdout, stderr } = await run(
        'catalog',
        'import',
        file,
        ...flags,
        '--data',
        data,
      );
      expect(code, stderr).toBe(status);
      if (status !== 1) expect(stdout).toContain('new D-1');
    }
    expect(existsSync(folder)).toBe(false);
    expect(readdirSync(empty)).toEqual([]);
  });

  it('The command line imports a file into a new data directory after the dry run of --strict', async () => {
    const folder = join(directory.fresh(), 'new');
    const file = feed(directory.fresh(), 'strict.csv', `${HEADER}D-1,Dry,1.00 GBP,in_stock\n`);
    const of = ['--data', folder];
    expect(await json('catalog', 'import', file, '--strict', ...of)).toMatchObject({ new: 1 });
    expect(await json('catalog', 'import', file, ...of)).toMatchObject({ unchanged: 1 });
  });
});
