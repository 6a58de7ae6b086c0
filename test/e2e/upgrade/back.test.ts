/** A data directory that an earlier commit, this version and the earlier commit again use in turn. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Ended, ended } from '../../support/clients/cli.ts';
import {
  agentKey,
  atDesk,
  type ChildService,
  endChildren,
  runCli,
  serveFrom,
} from '../../support/processes/child-service.ts';
import { directories } from '../../support/processes/directories.ts';
import { ROOT } from '../../support/source/tree.ts';
import { feedProduct } from '../../support/world/app.ts';
import { overHttp } from './exchange.ts';
import { checkOutOldVersion, hasOldVersion, OLD_VERSION } from './old-version.ts';
import { PUBLIC_URL, readDesk } from './services.ts';

const HOLDING = { HOLD_EVENT_TYPES: 'CallsAudited' };
const NO_REQUEST = '/approvals/out_000000000000000000000000';
const LINES = [{ sku: 'SKU-1', quantity: 4 }];

const temporary = directories('tributary-back-');
afterAll(async () => {
  await endChildren();
  temporary.removeAll();
});

describe.skipIf(!hasOldVersion)(`${OLD_VERSION}, before and after this version,`, () => {
  const code = temporary.fresh();
  const data = temporary.fresh();
  let key: string;

  const serve = (root: string, settings: Record<string, string> = {}): Promise<ChildService> =>
    serveFrom(root, data, { settings: { PUBLIC_URL, ...settings } });
  /** Runs a command of the earlier commit on the data directory. */
  const runOld = (...args: string[]): Promise<Ended> =>
    ended(runCli([...args, '--data', data], {}, code));
  const post = ({ url }: ChildService, path: string, body: object) =>
    overHttp(url)(
      {
        method: 'POST',
        path: `/api/affiliate/v1${path}`,
        as: 'key',
        headers: { 'idempotency-key': path },
        body: JSON.stringify(body),
      },
      { key },
    );

  beforeAll(async () => {
    checkOutOldVersion(code);
    const old = await serve(code);
    await atDesk(old, '/products/import', { products: [feedProduct('SKU-1')] });
    key = await agentKey(old);
    expect((await post(old, '/handoffs', { title: 'Old', line_items: LINES })).status).toBe(201);
    await old.end('SIGTERM');
  });

  it('replay what this version wrote, and verify the log, while it held new event types', async () => {
    const today = await serve(ROOT, HOLDING);
    const link = { target: { kind: 'search', ref: 'mug' } };
    const first = await post(today, '/links', link);
    expect(first.status).toBe(201);
    const list = await post(today, '/handoffs', { title: 'Old', line_items: LINES });
    await readDesk(today, NO_REQUEST);
    await today.end('SIGTERM');

    const old = await serve(code);
    expect((await post(old, '/links', link)).body).toBe(first.body);
    expect((await post(old, '/handoffs', { title: 'Old', line_items: LINES })).body).toBe(
      list.body,
    );
    const { data: events } = await readDesk<{ data: unknown[] }>(old, '/events?last=100');
    expect(events.length).toBeGreaterThan(5);
    await old.end('SIGTERM');
    for (const args of [['log', 'verify'], ['doctor'], ['projections', 'verify']]) {
      const { code: exit, stderr } = await runOld(...args);
      expect(exit, `${args.join(' ')}: ${stderr}`).toBe(0);
    }
  });

  it('serve records, and name the new event type where they cannot read it', async () => {
    const today = await serve(ROOT);
    await readDesk(today, NO_REQUEST);
    await today.end('SIGTERM');

    const old = await serve(code);
    expect((await post(old, '/links', { target: { kind: 'search', ref: 'mug' } })).status).toBe(
      201,
    );
    const lead = { external_id: 'crm-1', company: { name: 'Shop', country: 'GB' } };
    expect((await post(old, '/leads', lead)).status).toBe(201);
    await old.end('SIGTERM');
    expect((await runOld('projections', 'verify')).code).toBe(0);
    const { code: exit, stdout } = await runOld('doctor');
    expect(exit).not.toBe(0);
    expect(stdout).toContain('event type CallsAudited at position');
    expect(stdout).toContain('is unknown here: a newer version wrote it');
    const { code: verified, stderr } = await runOld('log', 'verify');
    expect(verified).not.toBe(0);
    expect(stderr).toContain('event type CallsAudited at position');
  });
});
