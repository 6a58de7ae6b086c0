/** Stores that an earlier commit wrote (test/golden/upgrade), opened by the version of today. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EVENTS } from '#contracts/registries/events.ts';
import type { Service } from '#src/main.ts';
import { ended, lastLine, untilServed } from '../../support/clients/cli.ts';
import { endStandIns } from '../../support/eventstoredb/start.ts';
import { directories } from '../../support/processes/directories.ts';
import { endRedis, hasRedis, ON_REDIS } from '../../support/redis/redis-server.ts';
import { verifiedLeaf } from '../../support/audit/receipt.ts';
import { endChildren, runCli, serveChild } from '../../support/processes/child-service.ts';
import {
  FIXTURE_COMMITS,
  FIXTURES,
  hasKept,
  readRecording,
  type Store,
  STORES,
  unpackDirectory,
} from './archive.ts';
import { NOT_IN_BASELINE, typesIn } from './baseline.ts';
import {
  type Answer,
  type Asked,
  readFacts,
  type Recording,
  retryFacts,
  type Send,
} from './exchange.ts';
import { copyStores, inProcess, openCopy, removeCopies } from './opened-copy.ts';
import { HANG_MS } from '../../support/hang.ts';
import { type Kept, keptIn } from './kept.ts';
import { PUBLIC_URL, readDesk } from './services.ts';

const temporary = directories('tributary-kept-');

const COPIES: { name: string; store: Store; isSkipped: boolean }[] = [
  { name: 'a data directory', store: 'embedded', isSkipped: false },
  { name: `a log and a Redis ${ON_REDIS}`, store: 'servers', isSkipped: !hasRedis },
];

afterAll(async () => {
  await endChildren();
  await Promise.all([endStandIns(), endRedis()]);
  removeCopies();
  temporary.removeAll();
});

it('Every folder of test/golden/upgrade is a fixture that the tests open', () => {
  const folders = readdirSync(FIXTURES, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  expect(folders.toSorted()).toEqual(FIXTURE_COMMITS.toSorted());
});

describe.each(FIXTURE_COMMITS.slice(-1))(
  'Commit %s, the newest that wrote a fixture,',
  (newest) => {
    it.each(STORES)(
      'The newest fixture lacks no event type but those that NOT_IN_BASELINE names, in the log of %s',
      async (store) => {
        const types = await typesIn(newest, store, temporary.fresh());
        const missing = Object.keys(EVENTS).filter((type) => !types.has(type));
        expect(missing.toSorted()).toEqual(Object.keys(NOT_IN_BASELINE).toSorted());
      },
    );

    it('The newest fixture has what people keep', () => {
      expect(hasKept(newest)).toBe(true);
    });
  },
);

describe.each(FIXTURE_COMMITS)('Commit %s wrote', (commit) => {
  for (const { name, store, isSkipped } of COPIES)
    describe.skipIf(isSkipped)(`${name}, and this version`, () => {
      testCopy(commit, store);
    });
});

const testCopy = (commit: string, store: Store): void => {
  let service: Service;
  let recording: Recording;
  let settings: Record<string, string>;
  let send: Send;
  beforeAll(async () => {
    recording = readRecording(commit, store);
    settings = await copyStores(commit, store);
    service = await openCopy(settings, recording);
    await service.deps.following.passed(recording.position, HANG_MS);
    send = inProcess(service);
    // A read model with a new version is filled while the others serve.
    await served({ method: 'GET', path: '/api/affiliate/v1/performance', as: 'acme' });
  });
  afterAll(() => service?.close());

  const served = (asked: Asked): Promise<Answer> =>
    untilServed(() => send(asked, recording.credentials));
  const ask = async (asked: Asked): Promise<Record<string, unknown>> => {
    const { status, body } = await served(asked);
    expect(status, `${asked.path}: ${body}`).toBeLessThan(300);
    return body === '' ? {} : (JSON.parse(body) as Record<string, unknown>);
  };
  const atDesk = (method: 'GET' | 'POST', path: string, body?: object) =>
    ask({
      method,
      path: `/api/desk/v1${path}`,
      as: 'staff',
      ...(body && { body: JSON.stringify(body), headers: { 'idempotency-key': `new-${path}` } }),
    });
  const asAgent = (path: string, body: object) =>
    ask({
      method: 'POST',
      path: `/api/affiliate/v1${path}`,
      as: 'acme',
      headers: { 'idempotency-key': `new-${path}` },
      body: JSON.stringify(body),
    });

  it('This version answers every read as an earlier commit did', async () => {
    expect(recording.reads.length).toBeGreaterThan(20);
    for (const { title, answer, ...asked } of recording.reads)
      expect(readFacts(asked, await served(asked)), title).toMatchObject(readFacts(asked, answer));
  });

  it('This version answers every retry with the bytes that an earlier commit answered', async () => {
    expect(recording.writes.length).toBeGreaterThan(40);
    for (const { title, retried, answer: _, ...asked } of recording.writes) {
      expect(retryFacts(await served(asked)), title).toEqual(retryFacts(retried));
    }
  });

  it("This version accepts writes that continue an earlier commit's records, and shows them", async () => {
    const { ids } = recording;
    const link = await asAgent('/links', { target: { kind: 'search', ref: 'mug' } });
    const lead = await asAgent('/leads', {
      external_id: 'crm-new',
      company: { name: 'Renamed', country: 'GB' },
    });
    expect(lead).toMatchObject({ company: { name: 'Renamed' }, version: 1 });
    await atDesk('POST', `/leads/${String(lead['id'])}/move`, {
      owner_id: 'acme',
      to: 'accepted',
    });
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const sent = await send(
      {
        method: 'POST',
        path: `${ids['handoff-open page']}/send`,
        headers: form,
        body: 'list_revision=1&name=Bea&email=bea%40shop.example&consent=yes',
      },
      {},
    );
    expect(sent.status).toBe(303);
    // Reads without a token can lag behind the writes.
    const path = '/api/affiliate/v1/leads?external_id=crm-new';
    await expect
      .poll(() => ask({ method: 'GET', as: 'acme', path }))
      .toMatchObject({ data: [{ state: 'accepted' }] });
    const listed = async (path: string) => JSON.stringify(await atDesk('GET', path));
    await expect.poll(() => listed('/links?owner_id=acme')).toContain(String(link['id']));
    await expect.poll(() => listed('/handoffs?owner_id=acme')).not.toContain('"status":"open"');
  });

  it("This version finds an earlier commit's read models equal to a fresh fold of the log", async () => {
    const copy = await copyStores(commit, store);
    expect(await command(copy, 'projections', 'verify')).toMatchObject({ equal: true });
  });

  it('This version finds every event as an earlier commit wrote it, in a log that continues a kept checkpoint', async () => {
    await service.close();
    const isKept = store === 'embedded' && hasKept(commit);
    const checkpoint = isKept ? ['--checkpoint', unpackKept(commit).checkpoint] : [];
    const found = await command(settings, 'log', 'verify', ...checkpoint);
    expect(found).toMatchObject({ intact: true });
  });
};

const unpackKept = (commit: string): Kept => {
  const directory = temporary.fresh();
  unpackDirectory(commit, 'kept', directory);
  return keptIn(directory);
};

describe.each(FIXTURE_COMMITS.filter(hasKept))('People of commit %s kept', (commit) => {
  let kept: Kept;
  let key: string;
  beforeAll(() => {
    kept = unpackKept(commit);
    key = readFileSync(kept.key, 'utf8').trim();
  });

  it('This version verifies an export that was kept, with the key that was kept', async () => {
    const verified = await printed(['audit', 'verify', kept.export, '--key', key]);
    expect(verified).toMatchObject({ status: 0, owner: 'acme', isKeyChecked: true });
  });

  it('This version verifies each receipt of a request that was kept, with the key that was kept', () => {
    const { receipts } = JSON.parse(readFileSync(kept.receipt, 'utf8')) as {
      receipts: { event_id: string; type: string; proof: string }[];
    };
    expect(receipts.map(({ type }) => type)).toContain('LinkCreated');
    for (const { event_id, type, proof } of receipts)
      expect(verifiedLeaf(proof, key)).toMatchObject({ id: event_id, type });
  });

  it('This version exports an owner from a copy of the log under the checkpoint that was kept', async () => {
    const { DATA_DIR = '' } = await copyStores(commit, 'embedded');
    const file = join(temporary.fresh(), 'acme.audit');
    const under = ['--checkpoint', kept.checkpoint];
    await printed(['audit', 'export', file, '--owner', 'acme', '--data', DATA_DIR, ...under]);
    const verified = await printed(['audit', 'verify', file, '--key', key, ...under]);
    expect(verified).toMatchObject({ status: 0, isKeyChecked: true });
  });

  it('This version restores a backup that was kept, and serves what it has', async () => {
    const target = join(temporary.fresh(), 'restored');
    await printed(['restore', kept.backup, '--data', target, '--without-erasures']);
    const service = await serveChild(target, { PUBLIC_URL });
    type Listed = { data: { id: string }[] };
    const { data } = await readDesk<Listed>(service, '/links?owner_id=acme&limit=100');
    const { ids } = readRecording(commit, 'embedded');
    expect(data.map(({ id }) => id)).toContain(ids['link']);
    await service.end('SIGTERM');
  });
});

/** The last line that a command wrote, which must succeed. */
const printed = async (args: string[], settings: Record<string, string> = {}): Promise<unknown> => {
  const { code, stdout, stderr } = await ended(runCli([...args, '--json'], settings));
  expect(code, stderr).toBe(0);
  return lastLine(stdout);
};

/** Runs a command on these stores. */
const command = (
  { DATA_DIR = '', ...settings }: Record<string, string>,
  ...args: string[]
): Promise<unknown> => printed([...args, '--data', DATA_DIR], settings);
