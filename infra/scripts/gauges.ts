/**
 * `make gauges`: prints how much source a reader meets. Starts a service, sends requests, and counts the files whose
 * functions run on its main thread between request and answer (V8 precise coverage); then counts files with one importer,
 * import circles, and imports against the order of the capabilities. Prints one table, with the goals; a missed goal does
 * not change the exit code.
 *
 *   node infra/scripts/gauges.ts --files createLink    the files of one figure
 *   node infra/scripts/gauges.ts --json FILE           also writes the figures with their files
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import PostalMime from 'postal-mime';
import {
  importsOf,
  layerFaults,
  ORDER,
  ROOT,
  type SourceFile,
  sourceFiles,
} from '../../test/support/source/tree.ts';
import { UNLIMITED } from '../../test/support/unlimited.ts';

const CLI = 'src/cli.ts';
const FOLDERS = ['contracts', 'src', 'projections'];

/** What one line of the table shows. `files` are what it counts: paths, circles, or imports. */
type Figure = { name: string; files: string[]; functions?: number; loaded?: number; goal?: number };

const GOALS: Readonly<Record<string, number>> = {
  createLink: 60,
  submitLead: 85,
  RFQ: 120,
  redirect: 50,
  rebuild: 110,
};

// The running service ------------------------------------------------------------------------------------------------

/** Functions that ran, as `path\nname@offset`. */
type Ran = Set<string>;
type Script = {
  url: string;
  functions: { functionName: string; ranges: { startOffset: number; count: number }[] }[];
};

const pathOf = (url: string): string | undefined => {
  const path = url.startsWith('file:') ? relative(ROOT, fileURLToPath(url)) : '';
  return FOLDERS.includes(path.split('/')[0] ?? '') ? path : undefined;
};

/** Returns how often each function ran. The code outside functions, which begins at 0, only runs when a module loads. */
const callsIn = (scripts: readonly Script[]): Map<string, number> => {
  const calls = new Map<string, number>();
  for (const { url, functions } of scripts) {
    const path = pathOf(url);
    if (path === undefined) continue;
    for (const { functionName, ranges } of functions) {
      const [{ startOffset, count } = { startOffset: 0, count: 0 }] = ranges;
      if (count > 0 && startOffset > 0) calls.set(`${path}\n${functionName}@${startOffset}`, count);
    }
  }
  return calls;
};

/** The service that is measured runs the demo, whose clock no other service has. */
const isOfDemo = (path: string): boolean => path.startsWith('src/demo/');

const filesOf = (ran: Ran): string[] =>
  [...new Set([...ran].map((one) => one.slice(0, one.indexOf('\n'))))]
    .filter((path) => !isOfDemo(path))
    .toSorted();

/** Counts the calls of functions on the main thread of a process, through its inspector. */
const openProfiler = async (address: string) => {
  const socket = new WebSocket(address);
  await once(socket, 'open');
  const waiting = new Map<number, (result: unknown) => void>();
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { id?: number; result?: unknown };
    if (id !== undefined) waiting.get(id)?.(result);
  });
  let sent = 0;
  const ask = async <Result>(method: string, params: object = {}): Promise<Result> => {
    const id = (sent += 1);
    const { promise, resolve } = Promise.withResolvers<unknown>();
    waiting.set(id, resolve);
    socket.send(JSON.stringify({ id, method, params }));
    return (await promise) as Result;
  };
  await ask('Profiler.enable');
  await ask('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  return {
    /** Returns what ran since the last call. */
    async take(): Promise<Ran> {
      const { result } = await ask<{ result: Script[] }>('Profiler.takePreciseCoverage');
      return new Set(callsIn(result).keys());
    },
    close: () => socket.close(),
  };
};

const nodeProcess = (args: readonly string[], env: Record<string, string>): ChildProcess =>
  spawn(process.execPath, args, {
    cwd: ROOT,
    // Without the compile cache: V8 counts functions from it less precisely.
    env: { PATH: '/usr/bin:/bin', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });

/** Resolves to the first line that `pick` accepts; rejects with all lines if the process ends before. */
const lineOf = (child: ChildProcess, from: 'stdout' | 'stderr', pick: RegExp): Promise<string> =>
  new Promise((resolve, reject) => {
    const stream = child[from];
    if (!stream) throw new Error(`the process has no ${from}`);
    const seen: string[] = [];
    createInterface({ input: stream }).on('line', (line) => {
      seen.push(line);
      const match = pick.exec(line);
      if (match) resolve(match[1] ?? line);
    });
    child.once('exit', () => reject(new Error(`the service did not start:\n${seen.join('\n')}`)));
  });

const startService = async (directory: string) => {
  const serve = [CLI, 'serve', '--port', '0', '--json', '--data', directory];
  const child = nodeProcess(['--inspect=127.0.0.1:0', ...serve], UNLIMITED);
  const [address, ready] = await Promise.all([
    lineOf(child, 'stderr', /Debugger listening on (ws:\S+)/),
    lineOf(child, 'stdout', /"url"/),
  ]);
  const profiler = await openProfiler(address);
  return {
    url: (JSON.parse(ready) as { url: string }).url,
    deskToken: readFileSync(join(directory, 'desk.token'), 'utf8').trim(),
    take: profiler.take,
    async end(): Promise<void> {
      profiler.close();
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
};
type Service = Awaited<ReturnType<typeof startService>>;

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const MCP = '2026-07-28';
const SCOPES = ['products:read', 'links:write', 'handoffs:write', 'leads:write', 'leads:read'];
const VALID_MS = 30 * 86_400_000;
const PRODUCT = {
  product: {
    sku: 'MUG-1',
    title: 'Mug',
    description: 'A mug',
    category: 'Gifts',
    currency: 'GBP',
    moq: 4,
    increment: 2,
    price_tiers: [{ min_quantity: 4, unit_price: 250 }],
  },
  stock: { level: 'in_stock', available_quantity: 100 },
};

type Answer = { body: Record<string, unknown>; text: string; date: number };

/** Sends requests as the desk, an agent and a buyer do. An answer of another status than `status` throws. */
const openClient = ({ url, deskToken }: Pick<Service, 'url' | 'deskToken'>) => {
  let keys = 0;
  const send = async (path: string, init: RequestInit, status: number): Promise<Answer> => {
    const response = await fetch(`${url}${path}`, { redirect: 'manual', ...init });
    const text = await response.text();
    if (response.status !== status) throw new Error(`${path}: ${response.status} ${text}`);
    const isJson = response.headers.get('content-type')?.includes('json') ?? false;
    return {
      body: isJson ? (JSON.parse(text) as Answer['body']) : {},
      text,
      date: Date.parse(response.headers.get('date') ?? ''),
    };
  };
  const json = (credential: string, body: object, more: Record<string, string> = {}) => ({
    method: 'POST',
    headers: {
      authorization: `Bearer ${credential}`,
      'content-type': 'application/json',
      ...more,
    },
    body: JSON.stringify(body),
  });
  /** Returns an idempotency key that was not used before. */
  const fresh = (): string => `gauge-${(keys += 1)}`;
  const keyed = () => ({ 'idempotency-key': fresh() });
  return {
    fresh,
    desk: (path: string, body: object, status = 200) =>
      send(`/api/desk/v1${path}`, json(deskToken, body, keyed()), status),
    read: (key: string, path: string) =>
      send(`/api/affiliate/v1${path}`, { headers: { authorization: `Bearer ${key}` } }, 200),
    write: (key: string, path: string, body: object) =>
      send(`/api/affiliate/v1${path}`, json(key, body, keyed()), 201),
    async tool(key: string, name: string, input: object): Promise<void> {
      const meta = {
        'io.modelcontextprotocol/protocolVersion': MCP,
        'io.modelcontextprotocol/clientInfo': { name: 'gauges', version: '1.0.0' },
        'io.modelcontextprotocol/clientCapabilities': {},
      };
      const params = { name, arguments: input, _meta: meta };
      const headers = {
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': MCP,
        'mcp-method': 'tools/call',
        'mcp-name': name,
      };
      const call = { jsonrpc: '2.0', id: (keys += 1), method: 'tools/call', params };
      const { body } = await send('/api/affiliate/mcp', json(key, call, headers), 200);
      const { isError } = (body['result'] ?? { isError: true }) as { isError?: boolean };
      if (isError === true) throw new Error(JSON.stringify(body));
    },
    page: (path: string, status = 200) =>
      send(path, { headers: { 'user-agent': BROWSER } }, status),
    press: (path: string, fields: Record<string, string>) =>
      send(
        path,
        { method: 'POST', headers: { 'user-agent': BROWSER }, body: new URLSearchParams(fields) },
        303,
      ),
    /** Resolves once the read models have all events. */
    async settle(): Promise<void> {
      let behind: unknown;
      do behind = (await send('/readyz', {}, 200)).body['events_behind'];
      while (behind !== 0);
    },
  };
};
type Client = ReturnType<typeof openClient>;

/** Creates the catalog and an approved agent; returns its key. */
const prepare = async ({ desk, settle }: Client): Promise<string> => {
  await desk('/products/import', { products: [PRODUCT] });
  const access = { owner_id: 'acme', name: 'A', purpose: 'Gauges', scopes: SCOPES };
  const { body: agent } = await desk('/access-grants', { ...access, reason: 'Known' }, 201);
  const { body: issued } = await desk(`/agents/${String(agent['id'])}/keys`, {}, 201);
  await settle();
  return String(issued['api_key']);
};

/** Resolves to the path that starts so of a link in the mail to a mailbox, once the mail is in the mail directory. */
const mailedPath = async (
  { client: { settle }, directory }: Round,
  to: string,
  start: 'rfq' | 'quotation',
): Promise<string> => {
  const link = new RegExp(`/${start}/[\\w.~-]+`);
  for (;;) {
    const entries = readdirSync(directory, { recursive: true, encoding: 'utf8' });
    for (const name of entries.filter((each) => each.endsWith('.eml'))) {
      const mail = await PostalMime.parse(readFileSync(join(directory, name)));
      const path = link.exec(mail.text ?? '')?.[0];
      if (path !== undefined && mail.to?.some(({ address }) => address === to)) return path;
    }
    await settle();
  }
};

type Round = {
  client: Client;
  key: string;
  directory: string;
  /** Sends a request and keeps the functions that run until its answer. */
  measure<Result>(name: string, request: () => Promise<Result>): Promise<Result>;
};

const sendRequests = async ({ client, key, measure }: Round): Promise<void> => {
  const target = { kind: 'product', ref: 'MUG-1' };
  await measure('getConnection', () => client.read(key, '/connection'));
  const link = await measure('createLink', () => client.write(key, '/links', { target }));
  const id = client.fresh();
  const lead = {
    idempotency_key: id,
    external_id: id,
    company: { name: 'Corner Shop', country: 'GB' },
    contact: { name: 'Ada Byron', email: `${id}@cornershop.example` },
    consent: { basis: 'consent', obtained_at: '2026-01-20T09:00:00Z' },
  };
  await measure('submitLead', () => client.tool(key, 'submit_lead', lead));
  const { pathname } = new URL(String(link.body['short_url']));
  await measure('redirect', () => client.page(pathname, 302));
};

const RFQ = 'RFQ';

/** Sends a buyer's RFQ from its form until the buyer has agreed to its quotation and it is won. */
const sendRfq = async (round: Round): Promise<void> => {
  const { client, key, measure } = round;
  const list = { title: 'Mugs', line_items: [{ sku: 'MUG-1', quantity: 48 }] };
  const { body, date } = await client.write(key, '/handoffs', list);
  const form = new URL(String(body['review_url'])).pathname;
  const email = `${client.fresh()}@shop.example`;
  const contact = { name: 'Bea Buyer', email, consent: 'yes' };
  await measure(`${RFQ}: page`, () => client.page(form));
  const sent = { list_revision: '1', 'quantity.1': '48', ...contact };
  await measure(`${RFQ}: send`, () => client.press(`${form}/send`, sent));
  const request = await mailedPath(round, email, 'rfq');
  await measure(`${RFQ}: confirmation page`, () => client.page(request));
  await measure(`${RFQ}: confirm`, () =>
    client.press(`${request}/confirm`, { list_revision: '1' }),
  );
  const rfq = `/handoffs/${String(body['id'])}/rfq`;
  const offer = { valid_until: new Date(date + VALID_MS).toISOString() };
  await measure(`${RFQ}: quote`, () => client.desk(`${rfq}/quote`, offer));
  const quotation = await mailedPath(round, email, 'quotation');
  const page = await measure(`${RFQ}: quotation page`, () => client.page(quotation));
  const hash = /name="hash" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
  await measure(`${RFQ}: agree`, () => client.press(`${quotation}/agree`, { hash }));
  await measure(`${RFQ}: won`, () => client.desk(`${rfq}/move`, { to: 'won' }));
};

/** Requests of each kind that are counted, after one that loads what is imported late. */
const ROUNDS = 11;

/** Returns the functions that ran in every round: what the service does beside a request at times does not count. */
const ranInAll = ([first = new Set(), ...others]: readonly Ran[]): Ran =>
  others.reduce((both, ran) => both.intersection(ran), first);

const figureOf = (name: string, ran: Ran): Figure => ({
  name,
  files: filesOf(ran),
  functions: ran.size,
  ...(GOALS[name] !== undefined && { goal: GOALS[name] }),
});

const measureRequests = async (directory: string): Promise<Figure[]> => {
  const service = await startService(directory);
  try {
    const client = openClient(service);
    const key = await prepare(client);
    const samples = new Map<string, Ran[]>();
    const round = {
      client,
      key,
      directory,
      async measure<Result>(name: string, request: () => Promise<Result>): Promise<Result> {
        await client.settle();
        await service.take();
        const answer = await request();
        const ran = await service.take();
        samples.set(name, [...(samples.get(name) ?? []), ran]);
        return answer;
      },
    };
    for (let n = 0; n <= ROUNDS; n += 1) {
      if (n === 1) samples.clear();
      await sendRequests(round);
      await sendRfq(round);
    }
    const ran = [...samples].map(([name, rounds]) => [name, ranInAll(rounds)] as const);
    const whole = new Set(ran.flatMap(([name, one]) => (name.startsWith(RFQ) ? [...one] : [])));
    return [...ran, [RFQ, whole] as const].map(([name, one]) => figureOf(name, one));
  } finally {
    await service.end();
  }
};

/** Runs a process until it has ended; returns what its main thread loaded and ran. */
const coverageOf = async (args: readonly string[], output: string): Promise<Script[]> => {
  const child = nodeProcess(args, { NODE_V8_COVERAGE: output });
  let text = '';
  child.stdout?.on('data', (chunk) => (text += String(chunk)));
  child.stderr?.on('data', (chunk) => (text += String(chunk)));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${text}`);
  // coverage-{pid}-{time}-{thread}.json: the main thread is 0.
  const name = readdirSync(output).find(
    (each) => each.startsWith(`coverage-${child.pid}-`) && each.endsWith('-0.json'),
  );
  if (name === undefined) throw new Error(`no coverage in ${output}`);
  const { result } = JSON.parse(readFileSync(join(output, name), 'utf8')) as { result: Script[] };
  return result.filter(({ url }) => pathOf(url) !== undefined);
};

/**
 * Measures a command in a process of its own. A second process only imports the same modules: functions that the command
 * calls no more often than that ran when a module loaded.
 */
const measureRebuild = async (directory: string, output: string): Promise<Figure> => {
  const command = [CLI, 'projections', 'rebuild', 'links', '--data', directory];
  const scripts = await coverageOf(command, output);
  const imports = scripts.flatMap(({ url }) =>
    pathOf(url) === CLI ? [] : [`await import(${JSON.stringify(url)});`],
  );
  const load = ['--input-type=module', '--eval', imports.join('\n')];
  const atLoad = callsIn(await coverageOf(load, output));
  const calls = [...callsIn(scripts)].filter(([one, n]) => n > (atLoad.get(one) ?? 0));
  return { ...figureOf('rebuild', new Set(calls.map(([one]) => one))), loaded: scripts.length };
};

// The source ---------------------------------------------------------------------------------------------------------

/** Returns the files of `files` that each of them imports, types included, without itself. */
const importGraph = (files: readonly SourceFile[]): Map<string, string[]> => {
  const paths = new Set(files.map(({ path }) => path));
  return new Map(
    files.map((file) => {
      const from = new Set(importsOf(file).map((imported) => imported.from));
      return [file.path, [...from].filter((path) => paths.has(path) && path !== file.path)];
    }),
  );
};

/** Returns the files that exactly one file imports; tests do not count. */
export const singleImporterFiles = (files: readonly SourceFile[]): string[] => {
  const importers = new Map<string, number>();
  for (const path of [...importGraph(files).values()].flat())
    importers.set(path, (importers.get(path) ?? 0) + 1);
  return [...importers].flatMap(([path, n]) => (n === 1 ? [path] : [])).toSorted();
};

/** Returns the strongly connected components of more than one node (Tarjan), each as its sorted nodes. */
const circlesIn = (graph: ReadonlyMap<string, readonly string[]>): string[][] => {
  const indices = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];
  const visit = (node: string): number => {
    const index = indices.size;
    indices.set(node, index);
    stack.push(node);
    let low = index;
    for (const next of graph.get(node) ?? []) {
      if (!indices.has(next)) low = Math.min(low, visit(next));
      else if (stack.includes(next))
        low = Math.min(low, lowest.get(next) ?? indices.get(next) ?? 0);
    }
    lowest.set(node, low);
    if (low === index) {
      const circle = stack.splice(stack.indexOf(node));
      if (circle.length > 1) circles.push(circle.toSorted());
    }
    return low;
  };
  for (const node of graph.keys()) if (!indices.has(node)) visit(node);
  return circles;
};

/** Returns the circles of files that import each other, types included. */
export const importCircles = (files: readonly SourceFile[]): string[][] =>
  circlesIn(importGraph(files));

/** Returns the folder of `src/` that a file is in. Deciders and pages are places of their own, as in the order. */
const placeOf = (path: string): string | undefined => {
  const [, folder, ending] = /^src\/([^/]+)\/(?:.*\.(decider|pages)\.ts$)?/.exec(path) ?? [];
  return ending === undefined ? folder : `*.${ending}.ts`;
};

/** Returns the circles of folders of `src/` whose files import each other, types included. */
export const folderCircles = (files: readonly SourceFile[]): string[][] => {
  const graph = new Map<string, string[]>();
  for (const [path, imports] of importGraph(files)) {
    const place = placeOf(path);
    if (place === undefined) continue;
    const places = imports.map(placeOf).filter((one) => one !== undefined);
    graph.set(place, [...(graph.get(place) ?? []), ...places]);
  }
  return circlesIn(graph);
};

/** Returns the place of a file in the order of the capabilities; undefined outside them. */
const rankOf = (path: string): number | undefined => {
  const rank = ORDER.findIndex((name) => path.startsWith(`src/${name}/`));
  if (path.endsWith('.decider.ts')) return -1;
  if (path.endsWith('.pages.ts')) return ORDER.length;
  return rank === -1 ? undefined : rank;
};

/** Returns the imports of later capabilities, types and the exceptions of the import rules included. */
export const backwardImports = (files: readonly SourceFile[]): string[] =>
  [...importGraph(files)].flatMap(([path, imports]) => {
    const rank = rankOf(path) ?? Infinity;
    return imports
      .filter((from) => (rankOf(from) ?? -1) > rank)
      .map((from) => `${path} imports ${from}`);
  });

const measureSource = (): Figure[] => {
  const files = sourceFiles(...FOLDERS);
  return [
    { name: 'source files', files: files.map(({ path }) => path).toSorted() },
    { name: 'one importer', files: singleImporterFiles(files), goal: 120 },
    { name: 'circles', files: importCircles(files).map((circle) => circle.join(' ')), goal: 0 },
    {
      name: 'folder circles',
      files: folderCircles(files).map((circle) => circle.join(' ')),
      goal: 0,
    },
    { name: 'against the order', files: backwardImports(files), goal: 0 },
    { name: 'against import rules', files: layerFaults(files), goal: 0 },
  ];
};

// The table ----------------------------------------------------------------------------------------------------------

const tableOf = (figures: readonly Figure[]): string => {
  const rows = figures.map(({ name, files, functions, loaded, goal }) => [
    name,
    loaded === undefined ? String(files.length) : `${files.length} of ${loaded}`,
    goal === undefined ? '' : `<= ${goal}`,
    goal === undefined || files.length <= goal ? '' : 'missed',
    functions === undefined ? '' : String(functions),
  ]);
  const table = [['', 'files', 'goal', '', 'functions'], ...rows];
  const widths = [0, 1, 2, 3, 4].map((n) => Math.max(...table.map((row) => row[n]?.length ?? 0)));
  return table
    .map((row) =>
      row
        .map((cell, n) => cell.padEnd(widths[n] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
};

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: { files: { type: 'string' }, json: { type: 'string' } },
  });
  const work = mkdtempSync(join(tmpdir(), 'tributary-gauges-'));
  try {
    const data = join(work, 'data');
    const requests = await measureRequests(data);
    const rebuild = await measureRebuild(data, join(work, 'coverage'));
    const figures = [...requests, rebuild, ...measureSource()];
    if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(figures, null, 2));
    const listed = figures.find(({ name }) => name === values.files);
    if (values.files !== undefined && !listed)
      throw new Error(`--files takes one of: ${figures.map(({ name }) => name).join(', ')}`);
    process.stdout.write(`${listed ? listed.files.join('\n') : tableOf(figures)}\n`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
};

if (import.meta.main) await main();
