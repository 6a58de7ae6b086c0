/** Stores that a version after this one wrote to: an event of a type, or of a version of it, that this one does not know. */
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { versionedType } from '#src/stores/event-codec.ts';
import { foldCrc, sealOf } from '#src/stores/sqlite/log/log-file.ts';
import type { Service } from '#src/main.ts';
import { ended } from '../../support/clients/cli.ts';
import { endStandIns, standIn } from '../../support/eventstoredb/start.ts';
import { endChildren, runCli } from '../../support/processes/child-service.ts';
import { directories } from '../../support/processes/directories.ts';
import { FIXTURE_COMMITS, readRecording, unpackDirectory, unpackLog } from './archive.ts';
import type { Recording } from './exchange.ts';
import { inProcess, openCopy } from './opened-copy.ts';
import { ROOT_KEY } from './services.ts';

const COMMIT = FIXTURE_COMMITS[0];
const ID = '01900000-0000-7000-8000-00000000ffff';

const temporary = directories('tributary-newer-');
let service: Service | undefined;
afterEach(() => service?.close());
afterAll(async () => {
  await endChildren();
  await endStandIns();
  temporary.removeAll();
});

type Kind = { type: string; v: number };
type Event = Kind & { stream: string; id: string; data: string; meta: string; at: number };
type Recorded = { stream: string; revision: number; position: number };

/** An event after the others of the lead that was won. */
const newerEvent = ({ ids, endedAt: at }: Recording, { type, v }: Kind): Event => {
  const stream = `acme-lead_${ids['won lead']?.slice(4)}`;
  const meta = { at, actor: 'agt_1', surface: 'rest', operation: 'scoreLead', request: 'r', v };
  const data = JSON.stringify({ lead_id: ids['won lead'], score: 7 });
  return { stream, id: ID, type, v, at, data, meta: JSON.stringify(meta) };
};

/** Appends the event to the file of an embedded log, with its checksums. */
const appendToFile = (directory: string, event: Event): void => {
  const { stream, id, at, data, meta } = event;
  const type = versionedType(event);
  const db = new DatabaseSync(join(directory, 'log.db'));
  const last = db.prepare('SELECT max(position) AS position FROM events').get();
  const own = db
    .prepare('SELECT stream_id, max(revision) AS revision FROM events WHERE stream = ?')
    .get(stream);
  const position = Number(last?.['position']) + 1;
  const revision = Number(own?.['revision']) + 1;
  const crc = foldCrc([position, stream, revision, type, at, data]);
  const owner = stream.slice(0, stream.indexOf('-'));
  const row = [position, Number(own?.['stream_id']), revision, owner, stream, id, type, at];
  const counted = db.prepare('SELECT count(*) AS events FROM events WHERE owner = ?').get(owner);
  const number = Number(counted?.['events']) + 1;
  const sealed = [...row, data, meta, crc, sealOf(crc, id, meta), number];
  const places = sealed.map(() => '?').join();
  db.prepare(`INSERT INTO events VALUES (${places})`).run(...sealed);
  db.close();
};

/** Appends the event to the file of the stand-in for EventStoreDB. */
const appendToLog = (file: string, event: Event): void => {
  const { stream, id, type, at, data, meta } = event;
  const records = readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Recorded);
  const position = (records.at(-1)?.position ?? 0) + 4_096;
  const revision = records.filter((record) => record.stream === stream).length;
  const coded = { data: btoa(data), meta: btoa(meta) };
  const record = { id, type, json: true, stream, revision, position, created: at, ...coded };
  appendFileSync(file, `${JSON.stringify(record)}\n`);
};

const stores = {
  async embedded(recording: Recording, kind: Kind): Promise<Record<string, string>> {
    const DATA_DIR = temporary.fresh();
    unpackDirectory(COMMIT, 'data', DATA_DIR);
    appendToFile(DATA_DIR, newerEvent(recording, kind));
    return { DATA_DIR };
  },
  async servers(recording: Recording, kind: Kind): Promise<Record<string, string>> {
    const file = join(temporary.fresh(), 'log.ndjson');
    unpackLog(COMMIT, file);
    appendToLog(file, newerEvent(recording, kind));
    const { url } = await standIn({ file });
    return { DATA_DIR: temporary.fresh(), ROOT_KEY, EVENT_LOG_URL: url };
  },
};

const UNKNOWN: Kind = { type: 'LeadScored', v: 1 };
/** Folded as version 1, it would lose the lead. */
const NEWER: Kind = { type: 'LeadLost', v: 2 };

describe.each([
  ['embedded', UNKNOWN, 'LeadScored'],
  ['embedded', NEWER, 'LeadLost@2'],
  ['servers', UNKNOWN, 'LeadScored'],
  ['servers', NEWER, 'LeadLost@2'],
] as const)(
  'An event of an unknown type, or of an unknown version of it, in a log (%s, %o)',
  (store, kind, TYPE) => {
    it('An event of an unknown type is skipped by read models, shown in the history, and refuses writes only to its record', async () => {
      const recording = readRecording(COMMIT, store);
      const lines: Record<string, unknown>[] = [];
      service = await openCopy(await stores[store](recording, kind), recording, (line) =>
        lines.push(line),
      );
      const send = inProcess(service);
      const { credentials, ids } = recording;
      const atDesk = async (path: string, body?: object) => {
        const method = body ? 'POST' : 'GET';
        const headers = { 'idempotency-key': `newer-${path}` };
        const asked = { method, path: `/api/desk/v1${path}`, as: 'staff', headers } as const;
        const text = body && { body: JSON.stringify(body) };
        const answer = await send({ ...asked, ...text }, credentials);
        return { status: answer.status, body: JSON.parse(answer.body) as Record<string, unknown> };
      };
      const skipped = lines.filter(({ msg }) => msg === 'read models skip an event type');
      expect(skipped.map(({ type }) => type)).toContain(TYPE);

      const history = await atDesk('/events?last=5');
      expect(history.status).toBe(200);
      const shown = history.body['data'] as { type: string; data: object }[];
      expect(shown.find(({ type }) => type === TYPE)).toMatchObject({ data: { score: 7 } });

      const move = { owner_id: 'acme', to: 'lost' };
      expect(await atDesk(`/leads/${ids['won lead']}/move`, move)).toMatchObject({
        status: 503,
        body: { code: 'storage_unavailable', outcome: 'none' },
      });
      const other = `/links/${ids['link']}/disable`;
      expect(await atDesk(other, { owner_id: 'acme', reason: 'Over' })).toMatchObject({
        status: 200,
      });
      const leads = await send(
        { method: 'GET', path: '/api/affiliate/v1/leads?external_id=crm-won', as: 'acme' },
        credentials,
      );
      expect(JSON.parse(leads.body)).toMatchObject({ data: [{ state: 'won' }] });
    });

    it('An event of an unknown type is not copied by a version that does not know it, which says so', async () => {
      const recording = readRecording(COMMIT, store);
      const { DATA_DIR, EVENT_LOG_URL, ...settings } = await stores[store](recording, kind);
      const from = EVENT_LOG_URL ?? `sqlite:${DATA_DIR}`;
      const to = `sqlite:${join(temporary.fresh(), 'copy')}`;
      const { code, stderr } = await ended(runCli(['log', 'copy', from, to], settings));
      expect(code, stderr).toBe(1);
      expect(stderr).toContain(`event type ${TYPE} at position`);
      expect(stderr).toContain('Copy the log with that version.');
    });
  },
);
