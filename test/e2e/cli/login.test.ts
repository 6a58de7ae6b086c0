/** The command line as a person: signed in from another directory, by a code that the person types in a browser. */
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { env } from 'node:process';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { spawn, type ChildProcess } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onLocalhost } from '#src/shared/localhost.ts';
import { COMMAND, COMPILED, ended, type Ended, lastLine } from '../../support/clients/cli.ts';
import {
  atDesk,
  type ChildService,
  endChildren,
  serveChild,
} from '../../support/processes/child-service.ts';
import { directories } from '../../support/processes/directories.ts';

const directory = directories('tributary-login-');
let service: ChildService;
let host: string;

beforeAll(async () => {
  service = await serveChild(directory.fresh());
  ({ host } = new URL(service.url));
});
afterAll(async () => {
  await endChildren();
  directory.removeAll();
});

/** Another machine: a directory without data, and a home of its own. */
const machine = () => {
  const home = directory.fresh();
  const cwd = join(home, 'work');
  mkdirSync(cwd, { recursive: true });
  const begin = (args: readonly string[], settings: Record<string, string> = {}): ChildProcess =>
    spawn(COMMAND, args, {
      cwd,
      env: { PATH: env['PATH'], HOME: home, NODE_COMPILE_CACHE: COMPILED, ...settings },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const run = (...args: string[]): Promise<Ended> => ended(begin(args));
  return { begin, run, cwd, file: join(home, '.config/tributary/contexts.json') };
};
type Machine = ReturnType<typeof machine>;

const FORM = 'application/x-www-form-urlencoded';

type Jar = { id: string; name: string; press(path: string, fields?: object): Promise<string> };

/** Invites a person with the machine's token, who accepts in a browser. */
const person = async (name: string, roles: readonly string[]): Promise<Jar> => {
  const mailbox = `${name.toLowerCase().replaceAll(' ', '.')}@house.example`;
  const invited = await atDesk(service, '/people', { name, mailbox, roles });
  const send = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(onLocalhost(service.url) + path, { redirect: 'manual', ...init });
  const { pathname } = new URL(invited['invitation_url'] ?? '');
  const accepted = await send(pathname, { method: 'POST', headers: { 'content-type': FORM } });
  const cookie = accepted.headers.getSetCookie().find((one) => one.startsWith('session='));
  const headers = { cookie: cookie?.split(';')[0] ?? '' };
  const me = await (await send('/me', { headers })).text();
  const csrf = /name="csrf" value="([^"]+)"/.exec(me)?.[1] ?? '';
  return {
    id: invited['id'] ?? '',
    name,
    async press(path, fields = {}) {
      const body = new URLSearchParams({ csrf, ...fields }).toString();
      const answer = await send(path, {
        method: 'POST',
        headers: { ...headers, 'content-type': FORM },
        body,
      });
      return answer.text();
    },
  };
};

/** Resolves with the code once the command shows it. */
const codeOf = (child: ChildProcess): Promise<string> =>
  new Promise((resolve) => {
    let text = '';
    child.stderr?.on('data', (chunk) => {
      text += String(chunk);
      const code = /^ {2}([A-Z]{4}-[A-Z]{4})$/m.exec(text)?.[1];
      if (code !== undefined) resolve(code);
    });
  });

const login = async (
  on: Machine,
  { by, press = 'allow', args = [] }: { by: Jar; press?: 'allow' | 'deny'; args?: string[] },
): Promise<Ended> => {
  const child = on.begin(['login', service.url, ...args]);
  const end = ended(child);
  const code = await codeOf(child);
  expect(await by.press('/device', { code })).toContain('Allow this machine?');
  await by.press(`/device/${press}`, { code });
  return end;
};

describe('A command line as a person', () => {
  it('A person signs in from a directory without data, and what they approve there is on record with person and session', async () => {
    const ann = await person('Ann Lee', ['staff', 'auditor']);
    const on = machine();
    const signedIn = await login(on, { by: ann });
    expect(signedIn, signedIn.stderr).toMatchObject({ code: 0 });
    expect(signedIn.stdout).toContain(`You are Ann Lee, staff and auditor, at ${service.url}`);
    expect(statSync(on.file).mode & 0o777).toBe(0o600);
    expect(statSync(join(on.file, '..')).mode & 0o777).toBe(0o700);

    const agent = await atDesk(service, '/agents', {
      owner_id: 'acme',
      name: 'Letters',
      purpose: 'Letters',
      scopes: ['products:read'],
    });
    const approved = await on.run('access', 'approve', agent['id'] ?? '', '--reason', 'Known');
    expect(approved, approved.stderr).toMatchObject({
      code: 0,
      stderr: `Acting as Ann Lee at ${service.url}.\n`,
    });
    const { token } = (
      JSON.parse(readFileSync(on.file, 'utf8')) as { contexts: Record<string, { token: string }> }
    ).contexts[host] ?? { token: '' };
    const session = token.slice(5, 17);
    const shown = await on.run('events', 'show', `acme-agent_${agent['id']?.slice(4)}`, '--json');
    const events = shown.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; meta: object });
    expect(events.find(({ type }) => type === 'AccessApproved')?.meta).toMatchObject({
      actor: `desk:${ann.id}`,
      session,
      surface: 'cli',
    });
    expect((await on.run('whoami')).stdout).toContain(`Ann Lee (${ann.id}): staff and auditor`);
    expect(existsSync(join(on.cwd, 'data'))).toBe(false);
  });

  it('A command needs the roles of the person, and says which', async () => {
    const on = machine();
    await login(on, { by: await person('Bob Ode', ['auditor']) });
    const refused = await on.run('token', 'issue', '--name', 'X', '--roles', 'staff');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('needs one of: operator');
  });

  it('A logout ends the token at the service, and another login replaces the one of its name', async () => {
    const eve = await person('Eve Fay', ['staff']);
    const on = machine();
    const tokenOf = (name: string): string =>
      (JSON.parse(readFileSync(on.file, 'utf8')) as { contexts: Record<string, { token: string }> })
        .contexts[name]?.token ?? '';
    await login(on, { by: eve, args: ['--context', 'work'] });
    const first = tokenOf('work');
    await login(on, { by: eve, args: ['--context', 'work'] });
    const second = tokenOf('work');
    const use = (token: string) =>
      ended(on.begin(['whoami', '--url', service.url, '--json'], { DESK_TOKEN: token }));
    expect(lastLine((await use(first)).stdout)).toMatchObject({ code: 'credential_revoked' });
    expect(await use(second)).toMatchObject({ code: 0 });
    expect(await on.run('logout')).toMatchObject({
      code: 0,
      stdout: `Eve Fay is signed out at ${service.url}.\n`,
    });
    const over = await use(second);
    expect(over.code).toBe(1);
    expect(over.stderr).toContain(`tributary login ${service.url}`);
    expect((await on.run('context', 'list')).stdout).toContain('not signed in anywhere');
    expect(await on.run('logout')).toMatchObject({ code: 1 });
  });

  it('The end of a person stops their command line, which says how to sign in again', async () => {
    const dan = await person('Dan Poe', ['staff']);
    const on = machine();
    await login(on, { by: dan, args: ['--context', 'work'] });
    expect(await on.run('whoami')).toMatchObject({ code: 0 });
    await atDesk(service, `/people/${dan.id}/end`, { reason: 'Left' });
    const stopped = await on.run('whoami');
    expect(stopped.code).toBe(1);
    expect(stopped.stderr).toContain('The person was ended.');
    expect(stopped.stderr).toContain(`tributary login ${service.url} --context work`);
    // What has ended is also forgotten by a logout.
    expect(await on.run('logout')).toMatchObject({ code: 0 });
  });

  it('A login that is denied signs nobody in', async () => {
    const on = machine();
    const denied = await login(on, { by: await person('Fay Orb', ['staff']), press: 'deny' });
    expect(denied).toMatchObject({ code: 1, stdout: '' });
    expect(denied.stderr).toContain('The login was denied on the page.');
    expect(existsSync(on.file)).toBe(false);
  });
});

describe('Where a command acts', () => {
  it('A command acts on what its flags name, otherwise on the data directory that is here, otherwise with the current context', async () => {
    const on = machine();
    await login(on, {
      by: await person('Gil Ray', ['staff', 'operator']),
      args: ['--context', 'work'],
    });
    const data = service.deskToken;
    expect(data).not.toBe('');
    const who = async (args: string[], settings = {}): Promise<unknown> =>
      (
        lastLine((await ended(on.begin(['whoami', '--json', ...args], settings))).stdout) as {
          name?: string;
          code?: string;
        }
      ).name;
    expect(await who([])).toBe('Gil Ray');
    expect(await who(['--context', 'work'], { DESK_TOKEN: data })).toBe('Gil Ray');
    expect(await who(['--url', service.url])).toBe('Gil Ray');
    expect(await who(['--url', service.url], { DESK_TOKEN: data })).toBe('the machine');
    // Another directory that somebody names is never replaced by a login.
    expect(await who([], { DATA_DIR: join(on.cwd, 'none') })).toBeUndefined();
    expect(await who(['--data', join(on.cwd, 'none')])).toBeUndefined();
    expect(await who([], { DESK_TOKEN: data })).toBeUndefined();
  });

  it.each([
    [['--data', 'x', '--url', 'https://shop.example'], '--data and --url'],
    [['--url', 'https://shop.example', '--context', 'work'], '--url and --context'],
    [['--url', 'http://shop.example'], 'is not encrypted'],
    [['--url', 'http://127.0.0.1.shop.example'], 'is not encrypted'],
    [['--url', 'http://localhost@shop.example'], 'without a user and a password'],
    [['--url', 'https://user:secret@shop.example'], 'without a user and a password'],
    [['--url', 'ftp://shop.example'], 'The address of a service is like'],
    [['--url', ''], 'The address of a service is like'],
    [['--context', 'wrok'], 'There is no context "wrok"'],
    [['--context', '__proto__'], 'There is no context "__proto__"'],
  ])('A command with %s is not run, and says why', async (args, text) => {
    const on = machine();
    const { code, stderr } = await ended(
      on.begin(['whoami', ...args], { DESK_TOKEN: 'trbd_secret' }),
    );
    expect(code).toBe(2);
    expect(stderr).toContain(text);
    expect(stderr).not.toContain('secret@');
  });

  it('A command that reads files of the service says that it needs them', async () => {
    const on = machine();
    for (const words of [['log', 'verify'], ['mail', 'list'], ['serve'], ['status']]) {
      const { code, stderr } = await on.run(...words, '--url', service.url);
      expect([words, code]).toEqual([words, 2]);
      expect(stderr).toContain('run it on the machine of the service');
    }
    const { code, stderr } = await on.run('mail', 'list');
    expect(code).toBe(3);
    expect(stderr).toContain('holds no Tributary data');
  });
});

describe('The file of contexts', () => {
  const kept = (on: Machine, text: string, mode = 0o600): void => {
    mkdirSync(join(on.file, '..'), { recursive: true });
    writeFileSync(on.file, text);
    chmodSync(on.file, mode);
  };
  const LOGIN = { url: 'https://shop.example', token: 'trbs_x', person: 'A', expires_at: '' };
  const text = (name: string) => JSON.stringify({ current: name, contexts: { [name]: LOGIN } });

  it('A file of contexts that others may read is refused with its mend', async () => {
    const on = machine();
    kept(on, text('work'), 0o644);
    const { code, stderr } = await on.run('whoami');
    expect(code).toBe(3);
    expect(stderr).toContain('chmod 600');
    chmodSync(on.file, 0o600);
    expect((await on.run('context', 'list')).stdout).toContain('work');
  });

  it.each(['', '{', '[]', 'null', '{"current":1,"contexts":{}}', '{"contexts":{"a":{}}}'])(
    'A file of contexts that is damaged, like %j, is refused with its mend, before a login begins',
    async (damaged) => {
      const on = machine();
      kept(on, damaged);
      for (const words of [['whoami'], ['login', service.url], ['context', 'list'], ['logout']]) {
        const { code, stderr } = await on.run(...words);
        expect([words, code]).toEqual([words, 3]);
        expect(stderr).toContain('is damaged. Remove it');
      }
      expect(readFileSync(on.file, 'utf8')).toBe(damaged);
    },
  );

  it('An unknown context is answered with the closest name, and a known one can be used and removed', async () => {
    const on = machine();
    const contexts = { work: LOGIN, home: { ...LOGIN, url: 'http://shop.example' } };
    kept(on, JSON.stringify({ current: 'work', contexts }));
    const unknown = await on.run('context', 'use', 'wrok');
    expect(unknown).toMatchObject({ code: 2 });
    expect(unknown.stderr).toContain('Did you mean work?');
    expect(await on.run('context', 'use', 'home')).toMatchObject({ code: 0 });
    // A file that was edited sends no token over plain HTTP either.
    expect((await on.run('whoami')).stderr).toContain('is not encrypted');
    expect((await on.run('context', 'list', '--json')).stdout).not.toContain('trbs_');
    expect(await on.run('context', 'remove', 'home')).toMatchObject({ code: 0 });
    const left = JSON.parse(readFileSync(on.file, 'utf8')) as object;
    expect(left).toEqual({ current: null, contexts: { work: LOGIN } });
    expect(await on.run('logout', '--context', 'home')).toMatchObject({ code: 2 });
  });
});

describe('A service that is none', () => {
  /** Serves one answer for everything; returns its address. */
  const serving = async (
    status: number,
    { headers = {}, body = '' }: { headers?: Record<string, string>; body?: string },
  ): Promise<[string, Server, string[]]> => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(request.headers.authorization ?? '');
      response.writeHead(status, headers).end(body);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return [`http://127.0.0.1:${(server.address() as AddressInfo).port}`, server, asked];
  };

  it.each([
    [404, { body: '<html>' }],
    [404, { body: '{"error":"no"}' }],
    [200, { body: '<html>' }],
    [200, { body: '{"ok":true}' }],
    [301, { headers: { location: 'http://127.0.0.1:9/elsewhere' } }],
    [502, { body: 'Bad gateway' }],
  ])(
    'A login at a server that answers %i with %o says that it is no service',
    async (status, answer) => {
      const [url, server] = await serving(status, answer);
      const { code, stderr } = await machine().run('login', url);
      expect(code).toBe(status === 200 && JSON.stringify(answer).includes('ok') ? 1 : 5);
      expect(stderr).toMatch(/answer/);
      expect(stderr).not.toContain('undefined');
      server.close();
    },
  );

  it('A redirect gets no token', async () => {
    const [elsewhere, other, sent] = await serving(200, { body: '{}' });
    const [url, server] = await serving(307, { headers: { location: `${elsewhere}/api` } });
    const on = machine();
    const child = on.begin(['whoami', '--url', url], { DESK_TOKEN: 'trbd_secret' });
    const { code, stderr } = await ended(child);
    expect(code).toBe(5);
    expect(stderr).toContain(elsewhere);
    expect(sent).toEqual([]);
    server.close();
    other.close();
  });

  it('A command whose service is not there says so, and a logout keeps the login', async () => {
    const [url, server] = await serving(200, {});
    server.close();
    const on = machine();
    mkdirSync(join(on.file, '..'), { recursive: true });
    const login = {
      url,
      token: `trbs_${'a'.repeat(12)}_${'b'.repeat(49)}`,
      person: 'A',
      expires_at: '',
    };
    writeFileSync(on.file, JSON.stringify({ current: 'a', contexts: { a: login } }), {
      mode: 0o600,
    });
    for (const words of [['whoami'], ['logout']]) {
      const { code, stderr } = await on.run(...words);
      expect([words, code]).toEqual([words, 5]);
      expect(stderr).toContain(`${url} gave no answer`);
    }
    expect(readFileSync(on.file, 'utf8')).toContain(login.token);
  });
});
