/**
 * audit-state, audit-later: CPU seconds of the state of an owner with a million visits, folded from the start and then to a
 * later position. audit-history: a page of its oldest acts. audit-trace: a new link by its id. audit-export, audit-open:
 * events a second of CPU, written to a file by pages of the desk, and read, checked and folded from it.
 */
import { join } from 'node:path';
import { askFile } from '#src/app/audit/file-desk.ts';
import type { Service } from '#src/main.ts';
import { openFileForAudits } from '#src/wiring/audit-file.ts';
import { writeExport } from '../../support/audit/export.ts';
import { feedProduct } from '../../support/world/app.ts';
import type { Bench } from '../bench.ts';
import { median } from '../measure.ts';
import { AGENTS, deskOf, openBench, sender } from '../service.ts';
import { rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';
import { cpuMs, writeVisits } from './performance.ts';

const OWNER = 'acme';
const SIZE = { links: 3_704, days: 90 };
const ROUNDS = 15;

/** CPU seconds of this process, because the machine may be busy. */
const seconds = async (work: () => Promise<unknown>): Promise<number> =>
  (await cpuMs(work)) / 1_000;

/** The median of several readings; the first ones compile the code. */
const repeated = async (work: () => Promise<unknown>): Promise<number> => {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) times.push(await seconds(work));
  return median(times);
};

const deskReader =
  ({ server }: Service, token: string) =>
  async (path: string) => {
    const url = `/api/desk/v1${path}`;
    const { statusCode, body } = await server.inject({
      method: 'GET',
      url,
      headers: { authorization: `Bearer ${token}` },
    });
    if (statusCode !== 200) throw new Error(`${url}: ${body}`);
    return JSON.parse(body) as never;
  };

export const benchAudit: Bench = async () => {
  const directory = temporaryDirectory();
  await writeVisits(directory, SIZE);
  const service = await openBench(directory);
  try {
    const desk = deskOf(service);
    const read = deskReader(service, desk.token);
    await desk.publish([feedProduct('SKU1')]);
    const { position } = await service.deps.log.head();
    const agent = sender(service, await desk.agent(OWNER));
    const first = await seconds(() => read(`/audit/state?owner_id=${OWNER}&at=${position}`));
    const link = await agent('POST', `${AGENTS}/links`, {
      target: { kind: 'product', ref: 'SKU1' },
    });
    const later = await seconds(() => read(`/audit/state?owner_id=${OWNER}`));
    const page = await repeated(() =>
      read(`/audit/history?owner_id=${OWNER}&before=2000&limit=100`),
    );
    const trace = await repeated(() =>
      read(`/audit/trace/${String(link['id'])}?owner_id=${OWNER}`),
    );
    const path = join(directory, 'owner.audit');
    let events = 0;
    const exported = await seconds(
      async () => (events = await writeExport(path, OWNER, { ask: read })),
    );
    const opened = await seconds(async () => {
      const { deps, file } = await openFileForAudits(path);
      await askFile(deps, 'auditState', { input: { owner_id: OWNER }, requestId: 'bench' });
      file.close();
    });
    const row = (id: string, what: string, value: number, unit: 's' | 'ms' | '1/s') => ({
      id,
      what,
      value,
      unit,
    });
    return [
      rowOf(row('audit-state', 'state of an owner with 1M events, from the start', first, 's'), {
        of: 'value',
        atMost: 12,
      }),
      rowOf(row('audit-later', '  the same at a later position', later, 's'), {
        of: 'value',
        atMost: 2,
      }),
      rowOf(row('audit-history', 'page of the oldest 100 acts', 1_000 * page, 'ms'), {
        of: 'value',
        atMost: 5,
      }),
      rowOf(row('audit-trace', 'trace of a link', 1_000 * trace, 'ms'), {
        of: 'value',
        atMost: 20,
      }),
      rowOf(row('audit-export', 'export, events', events / exported, '1/s'), {
        of: 'value',
        atLeast: 60_000,
      }),
      rowOf(row('audit-open', 'open and fold, events', events / opened, '1/s'), {
        of: 'value',
        atLeast: 80_000,
      }),
    ];
  } finally {
    await service.close();
  }
};
