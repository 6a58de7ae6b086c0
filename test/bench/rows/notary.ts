/**
 * N: the notary. Events a second that it hashes and stores, how far it is behind at 5,000 events a second, what it costs
 * createLink in the same run and a start, a proof over ten million leaves, and the verifier over 100,000 records.
 */
import { createReadStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { markTree } from '#src/proof/notary.ts';
import { LogTree } from '#src/proof/tree.ts';
import { verifyExport } from '#src/proof/verifier.ts';
import type { ProofStore } from '#src/ports/proof-store.ts';
import { sqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
import { sqliteProofStore } from '#src/stores/sqlite/proof-store.ts';
import { claimedCodes, fileOf, notaryAt, OWNER, SIGNERS } from '../../support/audit/notary.ts';
import { hasChromium, launchChromium, visitor } from '../../support/clients/browser.ts';
import { memoryEventLog } from '../../support/memory-event-log.ts';
import { feedProduct } from '../../support/world/app.ts';
import type { Bench } from '../bench.ts';
import { compared, type Role, sampled, type Started, start, startLoad } from '../children.ts';
import { madeLog } from '../generated-log.ts';
import { interleaved, median, middleOf } from '../measure.ts';
import { readOptions } from '../options.ts';
import { deskOf, listen, openBench, serverWith } from '../service.ts';
import { rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';
import { callsFor, type WriteDetails } from './write.ts';

/** As the service does: between the end of one mark and the next. */
const MARK_MS = 500;

/** Marks again and again until it is stopped; `onMark` is called after each mark. */
const marking = (mark: () => Promise<void>, onMark: () => void = () => {}) => {
  let isOver = false;
  const run = async (): Promise<void> => {
    while (!isOver) {
      await mark();
      onMark();
      await pause(MARK_MS);
    }
  };
  const running = run();
  return async (): Promise<void> => {
    isOver = true;
    await running;
  };
};

/** Builds the tree of a log from its first event; returns events a second. */
export const treeMaker: Role<{ directory: string; events: number }, number> = async (args) => {
  const { directory, events } = args;
  const log = sqliteEventLog({ directory });
  const store = sqliteProofStore(join(temporaryDirectory(), 'proof.db'));
  const began = performance.now();
  await new LogTree(log, store).advance();
  const seconds = (performance.now() - began) / 1_000;
  store.close();
  await log.close();
  return { details: events / seconds };
};

const BEHIND_EVENTS_PER_SECOND = 5_000;
const BATCHES_PER_SECOND = 50;
const BEHIND_SECONDS = 10;

/** Appends at a rate beside a notary; returns the most seconds from an append until a checkpoint covers it. */
export const behindNotary: Role<never, { seconds: number; perSecond: number }> = async () => {
  const log = sqliteEventLog({ directory: temporaryDirectory() });
  const notary = notaryAt(join(temporaryDirectory(), 'proof.db'), log);
  const appended: { position: number; at: number }[] = [];
  let worst = 0;
  const onMark = (): void => {
    const covered = notary.tree.newest?.position ?? 0;
    for (let [one] = appended; one && one.position <= covered; [one] = appended) {
      worst = Math.max(worst, performance.now() - one.at);
      appended.shift();
    }
  };
  const stop = marking(() => markTree(notary), onMark);
  const began = performance.now();
  const count = BEHIND_EVENTS_PER_SECOND / BATCHES_PER_SECOND;
  for (let batch = 0; batch < BEHIND_SECONDS * BATCHES_PER_SECOND; batch += 1) {
    const events = claimedCodes(count);
    const result = await log.append(`${OWNER}-codes_${batch}`, -1, events);
    if (result.outcome !== 'appended') throw new Error(result.outcome);
    appended.push({ position: result.position, at: performance.now() });
    const due = began + ((batch + 1) * 1_000) / BATCHES_PER_SECOND;
    await pause(Math.max(0, due - performance.now()));
  }
  const perSecond =
    (count * BEHIND_SECONDS * BATCHES_PER_SECOND * 1_000) / (performance.now() - began);
  await stop();
  await markTree(notary);
  onMark();
  await log.close();
  return { details: { seconds: worst / 1_000, perSecond } };
};

const PRODUCTS = 200;

/** A server for createLink, with or without a notary in its process. */
export const notaryServer: Role<{ isMarking: boolean }, WriteDetails> = async ({ isMarking }) => {
  const service = await openBench(temporaryDirectory());
  const desk = deskOf(service);
  await desk.publish(Array.from({ length: PRODUCTS }, (_, i) => feedProduct(`SKU${i}`)));
  const key = await desk.agent('acme');
  const server = serverWith(service, {});
  const url = await listen(server);
  const { deps } = service;
  const stop = isMarking ? marking(() => markTree({ ...deps.proof(), ...deps })) : undefined;
  return {
    details: { url, key },
    async close() {
      await stop?.();
      await server.close();
    },
  };
};

/** Starts the service, and reads the tree up to the end of the log, or leaves it. */
export const notaryStart: Role<{ directory: string; withTree: boolean }> = async (args) => {
  const service = await openBench(args.directory);
  if (args.withTree) await service.deps.proof().tree.advance();
  return { details: undefined, close: () => service.close() };
};

const LEAVES = 10_000_000;
const PROOFS = 2_000;
const TILE_BYTES = 8_192;

/** Milliseconds of each proof in a tree of ten million leaves, whose tiles are in memory. */
export const proofMaker: Role<never, number[]> = async () => {
  const tile = Buffer.alloc(TILE_BYTES, 1);
  const hashesAt = (level: number): number => Math.floor(LEAVES / 256 ** level);
  const store: Partial<ProofStore> = {
    progress: () => ({ size: LEAVES, position: 1, eventId: '' }),
    tile: (level, number) => tile.subarray(0, Math.max(0, 32 * (hashesAt(level) - 256 * number))),
    heads: () => [],
    markedHeads: () => [],
    marks: () => 0,
    lastMark: () => undefined,
  };
  const tree = new LogTree(memoryEventLog(), store as ProofStore);
  const times = Array.from({ length: PROOFS }, (_, run) => {
    const began = performance.now();
    tree.inclusion((run * 4_999_999) % LEAVES, LEAVES);
    return performance.now() - began;
  });
  return { details: times };
};

const RECORDS = 100_000;

/** Seconds in which the page /verify of a service checks a file; undefined without Chromium. */
const secondsInBrowser = async (url: string, path: string): Promise<number | undefined> => {
  if (!hasChromium) return undefined;
  const browser = await launchChromium();
  const { page } = await visitor(browser, url.replace('127.0.0.1', 'localhost'));
  await page.goto('/verify');
  await page.getByLabel('File').setInputFiles(path);
  const began = performance.now();
  await page.getByRole('button', { name: 'Verify' }).click();
  await page.locator('#verdict.good').waitFor();
  const seconds = (performance.now() - began) / 1_000;
  await browser.close();
  return seconds;
};

type Verified = { node: number; chromium: number | undefined };

/** Seconds in which the verifier checks a file of so many records. */
export const fileVerifier: Role<{ url: string }, Verified> = async ({ url }) => {
  const directory = temporaryDirectory();
  const made = await madeLog(directory);
  for (const event of claimedCodes(RECORDS)) made.append(OWNER, `${OWNER}-codes_1`, [event]);
  made.close();
  const log = sqliteEventLog({ directory });
  const notary = notaryAt(join(directory, 'proof.db'), log);
  await markTree(notary);
  const path = join(directory, 'acme.audit');
  writeFileSync(path, await fileOf(notary));
  const began = performance.now();
  const keys = [SIGNERS[0].text];
  const { status, records, reason } = await verifyExport(createReadStream(path), { keys });
  const seconds = (performance.now() - began) / 1_000;
  if (status !== 0 || records !== RECORDS) throw new Error(reason ?? `${records} records`);
  await log.close();
  return { details: { node: seconds, chromium: await secondsInBrowser(url, path) } };
};

const detailsOf = async <Details>(role: string, args: object = {}): Promise<Details> => {
  const child = await start<Details>(role, args);
  await child.stop();
  return child.details;
};

const startedSeconds = async (directory: string, withTree: boolean): Promise<number> => {
  const child = await start('notaryStart', { directory, withTree });
  await child.stop();
  return child.startedMs / 1_000;
};

const CONNECTIONS = 64;
const SAMPLE_MS = 2_400;

const createLinks = async () => {
  const servers = {
    marking: await start<WriteDetails>('notaryServer', { isMarking: true }),
    without: await start<WriteDetails>('notaryServer', { isMarking: false }),
  };
  const load = await startLoad();
  const at = (server: Started<WriteDetails>) => {
    const { url, key } = server.details;
    const order = { url, connections: CONNECTIONS, ms: SAMPLE_MS, calls: callsFor(key) };
    return { server, order };
  };
  const taken = await sampled(load, {
    marking: at(servers.marking),
    without: at(servers.without),
  });
  await Promise.all([load, ...Object.values(servers)].map((child) => child.stop()));
  return taken;
};

export const benchNotary: Bench = async ({ million, note }) => {
  const id = 'N';
  const { notaryEvents: events } = readOptions();
  const directory = await million.logOf(events);
  const perSecond = await detailsOf<number>('treeMaker', { directory, events });
  const behind = await detailsOf<{ seconds: number; perSecond: number }>('behindNotary');
  const links = await createLinks();
  note(id, links);
  // Makes the read models and the tree, which the measured starts find.
  for (const withTree of [false, true]) await startedSeconds(directory, withTree);
  const starts = await interleaved({
    withTree: () => startedSeconds(directory, true),
    without: () => startedSeconds(directory, false),
  });
  const times = await detailsOf<number[]>('proofMaker');
  const server = await start<WriteDetails>('notaryServer', { isMarking: false });
  const verified = await detailsOf<Verified>('fileVerifier', { url: server.details.url });
  await server.stop();
  const log = `${events.toLocaleString('en')} events`;
  const second = (value: number): number => value;
  return [
    rowOf(
      { id, what: `tree of ${log}, from the first`, value: perSecond, unit: '1/s' },
      { of: 'value', atLeast: 20_000 },
    ),
    rowOf(
      {
        id,
        what: `most that a checkpoint is behind at ${Math.round(behind.perSecond).toLocaleString('en')} events/s`,
        value: behind.seconds,
        unit: 's',
      },
      { of: 'value', atMost: 1 },
    ),
    rowOf(
      {
        id,
        what: 'createLink, 64 connections, vs without a notary',
        ...compared(links.marking, links.without, 'perSecond'),
      },
      { of: 'ratio', atLeast: 0.9 },
    ),
    rowOf({
      id,
      what: '  server CPU a request',
      ...compared(links.marking, links.without, 'cpuUs'),
    }),
    rowOf(
      {
        id,
        what: `start with ${log} and their tree, vs without`,
        value: middleOf(starts.withTree, second),
        unit: 's',
        control: middleOf(starts.without, second),
      },
      { of: 'ratio', atMost: 1.2 },
    ),
    rowOf(
      {
        id,
        what: `proof in a tree of ${LEAVES.toLocaleString('en')} leaves`,
        value: median(times),
        unit: 'ms',
      },
      { of: 'value', atMost: 2 },
    ),
    rowOf(
      {
        id,
        what: `verifying ${RECORDS.toLocaleString('en')} records in Node`,
        value: verified.node,
        unit: 's',
      },
      { of: 'value', atMost: 10 },
    ),
    ...(verified.chromium === undefined
      ? []
      : [
          rowOf(
            {
              id,
              what: `verifying ${RECORDS.toLocaleString('en')} records in Chromium`,
              value: verified.chromium,
              unit: 's',
            },
            { of: 'value', atMost: 30 },
          ),
        ]),
  ];
};
