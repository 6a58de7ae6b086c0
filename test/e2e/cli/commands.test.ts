import { spawn } from 'node:child_process';
import { readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { UNBOUND_ROLES } from '#contracts/scopes.ts';
import type { Server } from '../../support/clients/cli.ts';
import {
  connection,
  ended,
  feed,
  HEADER,
  killAll,
  lastLine,
  run,
  serve,
  start,
  until,
} from '../../support/clients/cli.ts';
import { jsonHere, runHere } from '../../support/clients/cli-here.ts';
import { directories } from '../../support/processes/directories.ts';
import { ROOT } from '../../support/source/tree.ts';

const directory = directories('tributary-cli-');
let server: Server;
let data: string;
const at = (): string[] => ['--data', data];

beforeAll(async () => {
  data = directory.fresh();
  server = await serve(data, '--demo');
});

afterAll(() => {
  killAll([server]);
  directory.removeAll();
});

/** Runs a line as a person pastes it into a shell in the folder of the repository. */
const paste = (line: string) =>
  ended(spawn('sh', ['-c', line], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] }));

describe('serve --demo', () => {
  it('`serve --demo` prints working addresses and keys as an object on the first line of stdout', async () => {
    const { ready } = server;
    expect(ready).toMatchObject({ owner: 'northwind', data });
    expect(ready.url).toBe(`http://127.0.0.1:${ready.port}`);
    expect(ready.desk_token).toMatch(/^trbd_/);
    expect(await connection(ready.url, ready.api_key)).toBe(200);
    expect((await fetch(ready.review_url)).status).toBe(200);
  });

  it('`serve --demo` prints examples that work when pasted into a shell, and status prints them again', async () => {
    const { code, stdout } = await run('status', ...at());
    expect(code).toBe(0);
    expect(stdout).toContain(`SERVICE_API_KEY=${server.ready.api_key}`);
    expect(stdout).toContain(server.ready.review_url);
    const lines = stdout.replaceAll('\\\n', ' ').match(/(?:curl|\.\/tributary) .*-.*/g) ?? [];
    expect(lines).toHaveLength(6);
    for (const line of lines) {
      const answer = await paste(line);
      expect(answer, line).toMatchObject({ code: 0 });
      if (line.startsWith('curl')) expect(JSON.parse(answer.stdout)).not.toHaveProperty('recovery');
      else expect(answer.stdout).toContain('pending_approval');
    }
  });

  it('`serve --demo` names the roles of its desk token', async () => {
    const { stdout } = await run('status', ...at());
    expect(stdout).toContain(`has the roles ${UNBOUND_ROLES.join(', ')};`);
  });

  it('`serve --demo` has a month of data: valid and invalid clicks, leads, RFQs and their value', async () => {
    const answer = await fetch(`${server.ready.url}/api/affiliate/v1/performance`, {
      headers: { authorization: `Bearer ${server.ready.api_key}` },
    });
    const { totals } = (await answer.json()) as { totals: Record<string, number> };
    expect(totals['clicks_raw']).toBeGreaterThan(totals['clicks_valid'] ?? 0);
    expect(totals['clicks_valid']).toBeGreaterThan(totals['clicks_unique'] ?? 0);
    expect(totals).toMatchObject({ rfqs_submitted: 5, leads_won: 1, handoffs_declined: 1 });
  });

  it('`serve --demo` refuses other addresses than loopback, and NODE_ENV=production', async () => {
    const flags = ['serve', '--demo', '--data', directory.fresh(), '--port', '0'];
    const [open, production] = await Promise.all([
      run(...flags, '--host', '0.0.0.0'),
      ended(start(flags, ['NODE_ENV=production'])),
    ]);
    expect(open).toMatchObject({ code: 3, stdout: '' });
    expect(production).toMatchObject({ code: 3, stdout: '' });
  });
});

describe('A server that cannot start', () => {
  it('A server that cannot start says that another process holds the directory, or that the port is taken', async () => {
    const [held, taken] = await Promise.all([
      run('serve', ...at(), '--port', '0'),
      run('serve', '--data', directory.fresh(), '--port', String(server.ready.port)),
    ]);
    expect(held).toMatchObject({ code: 3, stdout: '' });
    expect(held.stderr).toContain('in use by another Tributary process');
    expect(taken).toMatchObject({ code: 3, stdout: '' });
    expect(taken.stderr).toContain(`port ${server.ready.port} on 127.0.0.1 is taken`);
  });

  it('A server that cannot start names each setting that is not valid', async () => {
    const wrong = ['LOG_LEVEL=loud', 'TRUST_PROXY=maybe', 'PUBLIC_URL=http://x/y'];
    const { code, stderr } = await ended(start(['serve', ...at()], wrong));
    expect(code).toBe(3);
    expect(stderr).toMatch(/PUBLIC_URL: .*\nTRUST_PROXY: .*\nLOG_LEVEL: /);
  });
});

describe('Commands beside a running server', () => {
  it('Commands beside a running server give access, issue, rotate and revoke a key, and suspend an agent', async () => {
    const { url } = server.ready;
    const scopes = ['--scopes', 'products:read,links:write'];
    const asked = ['--owner', 'acme', '--name', 'Tester', '--purpose', 'A test', ...scopes];
    const { id: requested } = await jsonHere<{ id: string }>(
      'access',
      'request',
      ...asked,
      ...at(),
    );
    const why = ['--reason', 'A test', ...at()];
    const alone = await runHere('access', 'approve', requested, ...why);
    expect(alone.code).toBe(1);
    expect(alone.stderr).toContain('tributary people invite');
    const { id: agent } = await jsonHere<{ id: string }>('access', 'grant', ...asked, ...why);
    await jsonHere('access', 'approve', agent, '--scopes', 'products:read', ...why);
    const first = await runHere('key', 'issue', agent, '--days', '3', ...at());
    const key = first.stdout.trim();
    expect(key).toMatch(/^trb_live_/);
    expect(await connection(url, key)).toBe(200);

    const keyId = key.split('_')[2] ?? '';
    const rotated = await jsonHere<{ id: string; api_key: string }>(
      'key',
      'rotate',
      keyId,
      ...at(),
    );
    expect(await connection(url, rotated.api_key)).toBe(200);
    expect(await connection(url, key)).toBe(200);
    expect(await jsonHere('key', 'revoke', keyId, '--yes', ...why)).toMatchObject({
      status: 'revoked',
    });
    expect(await until(async () => (await connection(url, key)) === 401)).toBe(true);

    await jsonHere('access', 'suspend', agent, '--yes', ...why);
    expect(await connection(url, rotated.api_key)).toBe(403);
    await jsonHere('access', 'reinstate', agent, ...why);
    expect(await connection(url, rotated.api_key)).toBe(200);
    const { stdout } = await runHere('key', 'list', '--owner', 'acme', ...at());
    expect(stdout).toContain(keyId);
    expect(stdout).not.toContain(rotated.api_key);
    await jsonHere('access', 'request', ...asked, '--agent', agent, '--name', 'Your bank', ...at());
    const { stdout: open } = await runHere('access', 'list', '--owner', 'acme', ...at());
    expect(open).toMatch(/products:read,links:write +Your bank$/m);
    const denied = await runHere('access', 'deny', agent, ...why);
    expect(denied.stdout).toMatch(/^name +Tester$/m);
    expect(denied.stdout).toMatch(/^status +approved$/m);
    expect((await runHere('access', 'deny', agent, ...why)).stderr).toContain('suspend the agent');
  });

  it('Commands beside a running server list all agents, whatever the number of pages', async () => {
    const { url, desk_token } = server.ready;
    const ids = Array.from({ length: LIMITS.PAGE_ROWS_MAX + 1 }, (_, i) => `many-${i}`);
    const headers = { authorization: `Bearer ${desk_token}`, 'content-type': 'application/json' };
    const asked = { owner_id: 'many', name: 'Many', purpose: 'A test', scopes: ['leads:read'] };
    const body = JSON.stringify(asked);
    const request = (key: string) =>
      fetch(`${url}/api/desk/v1/agents`, {
        method: 'POST',
        headers: { ...headers, 'idempotency-key': key },
        body,
      });
    // A token may have only so many writes in progress.
    for (let from = 0; from < ids.length; from += LIMITS.WRITES_AT_ONCE) {
      const some = ids.slice(from, from + LIMITS.WRITES_AT_ONCE);
      for (const { status } of await Promise.all(some.map(request))) expect(status).toBe(201);
    }
    const list = await jsonHere<{ data: object[] }>('access', 'list', '--owner', 'many', ...at());
    expect(list).toMatchObject({ data: { length: ids.length }, next_before: null });
  });

  it('Commands beside a running server print a refusal on stderr with a hint, and with --json as an object on stdout', async () => {
    const asked = ['--owner', 'Acme-1', '--name', 'X', '--purpose', 'Y'];
    const scopes = ['--scopes', 'products:write', '--json', ...at()];
    const { code, stdout, stderr } = await runHere('access', 'request', ...asked, ...scopes);
    expect(code).toBe(1);
    expect(stderr).toContain('Some fields are not valid');
    expect(stderr).toContain('--owner: must be 3 to 32');
    expect(stderr).toContain('--scopes, no. 1: ');
    expect(stderr).toContain('Correct it, and run the command again.');
    expect(JSON.parse(stdout)).toMatchObject({ code: 'validation_failed', status: 422 });
  });

  it('Commands beside a running server do a write once when it is repeated with its idempotency key', async () => {
    const key = ['--idempotency-key', 'cli-test-1'];
    const asked = ['access', 'request', '--owner', 'acme', '--name', 'Twice', '--purpose', 'Once'];
    const all = [...asked, '--scopes', 'leads:read', ...key, ...at()];
    const [one, two] = [await jsonHere(...all), await jsonHere(...all)];
    expect(two).toEqual(one);
  });

  it('Commands beside a running server issue and revoke desk tokens', async () => {
    const list = (token: string): Promise<number> =>
      fetch(`${server.ready.url}/api/desk/v1/agents?owner_id=acme`, {
        headers: { authorization: `Bearer ${token}` },
      }).then(({ status }) => status);
    const asked = ['--name', 'Ada', '--roles', 'auditor', ...at()];
    const { id, token } = await jsonHere<{ id: string; token: string }>('token', 'issue', ...asked);
    expect(await list(token)).toBe(200);
    await jsonHere('token', 'revoke', id, '--yes', '--reason', 'Left', ...at());
    expect(await until(async () => (await list(token)) === 401)).toBe(true);
  });

  it('Commands beside a running server move a lead, disable a link, withdraw a handoff, and erase its personal data', async () => {
    const { stdout } = await runHere('events', 'show', 'northwind', '--json', ...at());
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; data: Record<string, string> });
    const last = (type: string, id: string): string =>
      events.findLast((event) => event.type === type)?.data[id] ?? '';
    const why = ['--owner', 'northwind', '--reason', 'A test', ...at()];
    const lead = last('LeadSubmitted', 'lead_id');
    const moved = await jsonHere('lead', 'move', lead, '--to', 'accepted', ...why);
    expect(moved).toMatchObject({ state: 'accepted' });
    const again = await runHere(
      'lead',
      'move',
      lead,
      '--to',
      'won',
      '--value',
      '12.50 GBP',
      ...why,
    );
    expect(again.code).toBe(1);
    expect(again.stderr).toContain('cannot become won');
    const link = last('LinkCreated', 'link_id');
    expect(await jsonHere('link', 'disable', link, '--yes', ...why)).toMatchObject({
      state: 'disabled',
    });
    const handoff = last('HandoffCreated', 'handoff_id');
    const closed = await jsonHere('handoff', 'withdraw', handoff, '--yes', ...why);
    expect(closed).toMatchObject({ state: 'withdrawn' });

    const erased = await jsonHere('erase', handoff, '--yes', '--reason', 'A test', ...at());
    expect(erased).toMatchObject({ subject: handoff, key: 'destroyed' });
  });
});

describe('catalog import', () => {
  it('`catalog import` imports the good lines, prints the bad ones, and appends nothing for unchanged products', async () => {
    const lines =
      'T-1,One,1.00 GBP,in_stock\nT-2,Two,cheap,in_stock\nT-3,Three,3.00 GBP,in_stock\n';
    const file = feed(data, 'bad.csv', HEADER + lines);
    const first = await runHere('catalog', 'import', file, '--json', ...at());
    expect(first.code).toBe(4);
    expect(first.stderr).toMatch(/bad\.csv:3: price must be like 0\.85 GBP/);
    expect(lastLine(first.stdout)).toMatchObject({ read: 3, new: 2, unchanged: 0, rejected: 1 });
    const second = await runHere('catalog', 'import', file, '--json', ...at());
    expect(second.code).toBe(4);
    expect(lastLine(second.stdout)).toMatchObject({ read: 3, new: 0, unchanged: 2, rejected: 1 });

    const strict = await runHere('catalog', 'import', file, '--strict', '--json', ...at());
    expect(strict.code).toBe(1);
    expect(strict.stderr).toContain('1 bad line in');
    expect(lastLine(strict.stdout)).toMatchObject({ read: 3, new: 0, unchanged: 0, rejected: 3 });
    const gone = await jsonHere('catalog', 'withdraw', 'T-1', '--yes', '--reason', 'Gone', ...at());
    expect(gone).toMatchObject({ status: 'withdrawn' });
    const again = await runHere('catalog', 'import', file, ...at());
    const text =
      '3 rows read: 0 new, 1 changed (1 republished after a withdrawal), 1 unchanged, 0 ended, 1 rejected.';
    expect(again.stdout).toBe(`${text}\n`);
  });

  it('`catalog import` imports every line after a line with an unclosed quote', async () => {
    const lines = Array.from({ length: 200 }, (_, n) => `Q-${n},T ${n},1.00 GBP,in stock\n`);
    lines[19] = 'Q-19,"Open quote,1.00 GBP,in stock\n';
    lines[99] = 'Q-99,"Mug, blue",1.00 GBP,in stock\n';
    const file = feed(data, 'stray.csv', HEADER + lines.join(''));
    const { stdout, stderr } = await runHere('catalog', 'import', file, '--json', ...at());
    expect(stderr).toContain('stray.csv:21: has a quote that ends inside a value in line 101; ');
    expect(lastLine(stdout)).toMatchObject({ read: 200, new: 199, unchanged: 0, rejected: 1 });
  });

  it('`catalog import` says in one sentence that a file cannot be read', async () => {
    const [loop, memory] = ['loop.csv', 'memory.csv'].map((name) => join(data, name));
    symlinkSync('loop.csv', loop ?? '');
    symlinkSync('/proc/self/mem', memory ?? '');
    const [unopened, unread] = await Promise.all([
      runHere('catalog', 'import', loop ?? '', ...at()),
      runHere('catalog', 'import', memory ?? '', ...at()),
    ]);
    expect([unopened.code, unread.code]).toEqual([2, 1]);
    expect(unopened.stderr).toMatch(/^tributary: \S*loop\.csv cannot be read: ELOOP.*\n$/);
    expect(unread.stderr).toMatch(/^tributary: \S*memory\.csv cannot be read: EIO.*\n$/);
  });

  it('`catalog import` replays all its batches when it is repeated with its idempotency key', async () => {
    const lines = Array.from({ length: 300 }, (_, n) => `K-${n},T ${n},1.00 GBP,in stock\n`);
    const file = feed(data, 'keyed.csv', HEADER + lines.join(''));
    const keyed = ['catalog', 'import', file, '--idempotency-key', 'keyed-1', ...at()];
    const first = await jsonHere(...keyed);
    expect(first).toMatchObject({ read: 300, new: 300, unchanged: 0, rejected: 0, ended: 0 });
    await jsonHere('catalog', 'withdraw', 'K-299', '--yes', '--reason', 'Gone', ...at());
    const { absent: _, of_source: __, ...counts } = first;
    expect(await jsonHere(...keyed)).toMatchObject(counts);
    const withdrawn = await jsonHere('catalog', 'import', file, ...at());
    expect(withdrawn).toMatchObject({ new: 0, changed: 1, unchanged: 299 });
  });

  it('`catalog import` imports every row but those over a limit, and with --strict none', async () => {
    const row = (n: number) => `L-${n},T,1.00 EUR,in_stock,m${n === 400 ? 'M'.repeat(80) : n}\n`;
    const rows = Array.from({ length: 700 }, (_, index) => row(index + 1));
    const file = feed(data, 'limits.csv', `id,title,price,availability,mpn\n${rows.join('')}`);
    const strict = await runHere('catalog', 'import', file, '--strict', '--json', ...at());
    expect(strict.code).toBe(1);
    expect(lastLine(strict.stdout)).toMatchObject({ read: 700, new: 0, rejected: 700 });
    const { code, stderr, stdout } = await runHere('catalog', 'import', file, '--json', ...at());
    expect(stderr).toContain('limits.csv:401: mpn has 81 characters; at most 70 are allowed');
    expect([code, lastLine(stdout)]).toMatchObject([4, { read: 700, new: 699, rejected: 1 }]);
  });

  it('`catalog import` sends long products in parts that one request can hold', async () => {
    const long = Array.from(
      { length: 120 },
      (_, n) => `W-${n},T,1.00 EUR,in_stock,${'w '.repeat(2_400)}\n`,
    );
    const file = feed(
      data,
      'long.csv',
      `id,title,price,availability,description\n${long.join('')}`,
    );
    expect(await jsonHere('catalog', 'import', file, ...at())).toMatchObject({
      read: 120,
      new: 120,
    });
  });

  it('`catalog import` says what a feed changes, and ends what it no longer has only when asked', async () => {
    const full =
      'id,title,price,availability,description,product_type,brand,order_increment,min_order_quantity\n';
    const rows = Array.from(
      { length: 10 },
      (_, n) => `F-${n},Mug ${n},1.00 GBP,in_stock,Long text,Kitchen,Tidewater,6,6\n`,
    );
    const of = ['--source', 'main', ...at()];
    const whole = feed(data, 'whole.csv', full + rows.join(''));
    expect(await jsonHere('catalog', 'import', whole, ...of)).toMatchObject({ new: 10, absent: 0 });
    const lines = Array.from({ length: 10 }, (_, n) => `F-${n},Mug ${n},1.00 GBP,in_stock\n`);
    const fewer = feed(data, 'fewer.csv', HEADER + lines.join(''));
    expect(await jsonHere('catalog', 'import', fewer, ...of)).toMatchObject({ unchanged: 10 });
    const replaced = await runHere('catalog', 'import', fewer, '--replace', '--dry-run', ...of);
    expect(replaced.stdout).toContain(
      'changed F-0: description "Long text" -> ""; brand "Tidewater" -> none',
    );
    expect(replaced.stdout).toContain('order_increment 6 -> 1');
    expect(replaced.stdout).toContain(
      '10 rows read: 0 new, 10 changed, 0 unchanged, 0 ended, 0 rejected. Dry run: nothing was written.',
    );

    const eight = feed(data, 'eight.csv', HEADER + lines.slice(2).join(''));
    const counted = await runHere('catalog', 'import', eight, ...of);
    expect(counted.stderr).toContain('2 of 10 products of main are not in the feed: F-0, F-1');
    expect(counted.stdout).toContain('8 unchanged, 0 ended');
    const bad = feed(
      data,
      'bad-row.csv',
      `${HEADER}F-0,Mug,free,in_stock\n${lines.slice(2).join('')}`,
    );
    const ended = await runHere('catalog', 'import', bad, '--ends-absent', '--json', ...of);
    expect([ended.code, lastLine(ended.stdout)]).toMatchObject([
      4,
      { ended: 1, rejected: 1, absent: 1 },
    ]);
    const unnamed = feed(
      data,
      'unnamed.csv',
      `${HEADER},Mug,free,in_stock\n${lines.slice(2).join('')}`,
    );
    const unsure = await runHere('catalog', 'import', unnamed, '--ends-absent', ...of);
    expect([unsure.code, unsure.stderr]).toEqual([
      1,
      expect.stringContaining('nothing was ended: line 2 can be of any product'),
    ]);
    const four = feed(data, 'four.csv', HEADER + lines.slice(6).join(''));
    const refused = await runHere('catalog', 'import', four, '--ends-absent', ...of);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('repeat with --yes'),
    ]);
    expect(
      await jsonHere('catalog', 'import', four, '--ends-absent', '--yes', ...of),
    ).toMatchObject({
      unchanged: 4,
      ended: 5,
      of_source: 9,
    });
    const usage = await runHere('catalog', 'import', four, '--ends-absent', ...at());
    expect([usage.code, usage.stderr]).toEqual([2, expect.stringContaining('--source NAME')]);
  });

  it('`catalog import` refuses a price of 0 unless it is allowed', async () => {
    const file = feed(
      data,
      'zero.csv',
      `${HEADER}ZP1,Zero mug,0.00 EUR,in_stock\nZP2,Mug,1.00 EUR,in_stock\n`,
    );
    const { code, stderr } = await runHere('catalog', 'import', file, ...at());
    expect(code).toBe(4);
    expect(stderr).toContain('zero.csv:2: price is 0.00 EUR');
    const free = await runHere('catalog', 'import', file, '--allow-free', '--json', ...at());
    expect([free.code, lastLine(free.stdout)]).toMatchObject([0, { new: 1, unchanged: 1 }]);
  });

  it('`catalog import` reads TSV and NDJSON by the ending of the file name, in several batches', async () => {
    const rows = Array.from({ length: 600 }, (_, i) => `B-${i}\tItem ${i}\t2.00 GBP\tin_stock\n`);
    const tsv = feed(data, 'many.tsv', HEADER.replaceAll(',', '\t') + rows.join(''));
    expect(await jsonHere('catalog', 'import', tsv, ...at())).toMatchObject({
      read: 600,
      new: 600,
    });
    const object = { id: 'N-1', title: 'N', price: '4.00 GBP', available_quantity: 5 };
    const ndjson = feed(data, 'one.ndjson', `${JSON.stringify(object)}\n`);
    expect(await jsonHere('catalog', 'import', ndjson, ...at())).toMatchObject({ new: 1 });
    const [ending, missing, all] = await Promise.all([
      runHere('catalog', 'import', feed(data, 'x.txt', ''), ...at()),
      runHere('catalog', 'import', join(data, 'none.csv'), ...at()),
      runHere('catalog', 'import', feed(data, 'all.csv', `${HEADER}X,,free,never\n`), ...at()),
    ]);
    expect([ending.code, missing.code, all.code]).toEqual([2, 2, 1]);
    const nothing = { read: 0, new: 0, changed: 0, unchanged: 0, rejected: 0, ended: 0 };
    for (const [name, text, reason] of [
      ['empty.csv', '', 'the file is empty'],
      ['semi.csv', HEADER.replaceAll(',', ';'), 'save it with commas'],
    ] as const)
      for (const strict of [[], ['--strict']]) {
        const file = feed(data, name, text);
        const refused = await runHere('catalog', 'import', file, '--json', ...strict, ...at());
        expect(refused.code).toBe(1);
        expect(refused.stderr).toContain(`nothing was imported: ${file}:1: `);
        expect(refused.stderr).toContain(reason);
        expect(lastLine(refused.stdout)).toEqual(nothing);
      }
  });
});

describe('Reading commands', () => {
  it('Reading commands show the history of an owner as of a position, and the newest events', async () => {
    const shown = await runHere('events', 'show', 'northwind', ...at());
    expect(shown.stdout).toMatch(/^ +\d+ {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ {2}AccessRequested /m);
    expect(shown.stdout).not.toMatch(/\bs1\.|token_hash/);
    const before = await runHere('events', 'show', 'northwind', '--at', '100', '--json', ...at());
    const positions = before.stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { position: number }).position);
    expect(Math.max(...positions)).toBeLessThanOrEqual(100);
    const tail = await runHere(
      'events',
      'tail',
      '--owner',
      'harbour',
      '--limit',
      '3',
      '--json',
      ...at(),
    );
    expect(tail.stdout.trimEnd().split('\n')).toHaveLength(3);
    for (const asked of [
      ['show', 'nobody'],
      ['tail', '--owner', 'nobody'],
    ]) {
      const { code, stderr } = await runHere('events', ...asked, ...at());
      expect(code).toBe(1);
      expect(stderr).toContain('there are no events of nobody');
    }
  });

  it('Reading commands follow new events until SIGINT', async () => {
    const following = start(['events', 'tail', '--follow', '--limit', '1', '--json', ...at()]);
    const end = ended(following);
    let seen = '';
    following.stdout?.on('data', (chunk) => (seen += String(chunk)));
    expect(await until(() => seen.includes('\n'))).toBe(true);
    await jsonHere('catalog', 'withdraw', 'T-3', '--yes', '--reason', 'Gone', ...at());
    expect(await until(() => seen.includes('ProductWithdrawn'))).toBe(true);
    following.kill('SIGINT');
    expect((await end).code).toBe(0);
  });

  it('Reading commands check the installation, and refuse to verify the log beside a running server', async () => {
    const report = await jsonHere<{ healthy: boolean; checks: { name: string; detail: string }[] }>(
      'status',
      '--check',
      ...at(),
    );
    expect(report.healthy).toBe(true);
    const detail = (name: string) => report.checks.find((check) => check.name === name)?.detail;
    expect(detail('server')).toContain(server.ready.url);
    expect(detail('node')).toMatch(/^\d+\./);
    const verify = await runHere('log', 'verify', ...at());
    expect(verify).toMatchObject({ code: 3 });
    expect(verify.stderr).toContain('Stop it first');
  });

  it('Reading commands show the status of the read models, rebuild one, and verify all', async () => {
    const { head, data: all } = await jsonHere<{
      head: number;
      data: { name: string; space: string }[];
    }>('projections', 'status', ...at());
    expect(all.map(({ name }) => name)).toContain('leads');
    const { rebuilt } = await jsonHere<{
      rebuilt: { name: string; space: string; position: number }[];
    }>('projections', 'rebuild', 'leads', ...at());
    expect(rebuilt[0]?.position).toBeGreaterThanOrEqual(head);
    const { stdout } = await runHere('projections', 'rebuild', 'leads', ...at());
    expect(stdout).toMatch(/leads: up to position [\d,]+ into leads@\d+\.\d+ in [\d.]+ s, live/);
    expect(rebuilt[0]?.space).not.toBe(all.find(({ name }) => name === 'leads')?.space);
    expect(await jsonHere('projections', 'verify', ...at())).toMatchObject({ equal: true });
    const none = await runHere('projections', 'verify', 'none', ...at());
    expect(none.code).toBe(1);
    expect(none.stderr).toMatch(/no read model none; the read models are .*\bleads\b/);
  });
});

describe('The server of these tests', () => {
  it('`serve --demo` writes its log lines to a file, which status names, and none to stderr', async () => {
    const { stdout } = await runHere('status', ...at());
    const { stderr } = await server.stop();
    expect(stderr).toBe('');
    const file = join(data, 'service.log');
    expect(stdout).toContain(`Log lines    ${file}\n`);
    expect(statSync(file).mode & 0o077).toBe(0);
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    for (const line of lines) expect(JSON.parse(line)).toHaveProperty('msg');
  });
});
