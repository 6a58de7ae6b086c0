/** The file of an audit: the same bytes for the same range, and a refusal that names the line of any damage. */
import { readFileSync, writeFileSync } from 'node:fs';
import canonicalize from 'canonicalize';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { AuditBody, AuditFileDamaged, openAuditFile } from '#src/stores/audit-file.ts';
import { markTree } from '#src/proof/notary.ts';
import { askFile, type FileAuditId } from '#src/audits/file-desk.ts';
import { openFileForAudits } from '#src/wiring/audit-file.ts';
import { expectProved, exported } from '../support/audit/export.ts';
import { randomHistory } from '../support/audit/random-history.ts';
import { testApp, type TestApp } from '../support/world/app.ts';

const OWNER = 'acme';

let app: TestApp;
let path: string;
let text: string;
beforeAll(async () => {
  app = await testApp();
  const history = await randomHistory(app, OWNER, 4);
  for (let act = 0; act < 40; act += 1) await history.act();
  await app.service.deps.audit.flush();
  path = await exported(app, OWNER);
  text = readFileSync(path, 'utf8');
});
afterAll(() => app.close());

const refusedAt = async (damaged: string | Buffer): Promise<number> => {
  const file = `${path}.damaged`;
  writeFileSync(file, damaged);
  const error = await openAuditFile(file).then(
    (opened) => opened.close(),
    (refusal: unknown) => refusal,
  );
  expect(error).toBeInstanceOf(AuditFileDamaged);
  return (error as AuditFileDamaged).line;
};
const lines = () => text.split('\n').slice(0, -1);
/** The lines of the events as an export has them before it chains them. */
const withoutHashes = () =>
  lines()
    .slice(1)
    .map((line) => line.replace(/^\{"chain":"[^"]*",/, '{'));
const joined = (all: readonly string[]): string => `${all.join('\n')}\n`;

describe('An exported file', () => {
  it('An exported file has the same records for the same range, whatever the pages and what others wrote meanwhile', async () => {
    await app.desk('POST', '/agents', {
      owner_id: 'rival',
      name: 'Other',
      purpose: 'Tests',
      scopes: ['links:write'],
    });
    const [, ...body] = readFileSync(await exported(app, OWNER, { limit: 1_000 }), 'utf8').split(
      '\n',
    );
    expect(body).toEqual(text.split('\n').slice(1));
  });

  it('An exported file has all that its checkpoint names, although another checkpoint was added while it was read', async () => {
    const { deps } = app.service;
    const { readBack } = deps.log;
    const read = vi.spyOn(deps.log, 'readBack').mockImplementation(async (query) => {
      if (query.owner !== OWNER) return readBack(query);
      read.mockRestore();
      await app.agent(OWNER);
      await markTree({ ...deps.proof(), ...deps });
      return readBack(query);
    });
    await expectProved(app, [OWNER]);
    expect(deps.log.readBack).toBe(readBack);
  });

  it("An exported file contains each event of the log in the package's canonical JSON", async () => {
    const { log } = app.service.deps;
    const { position: upTo } = await log.head();
    const events = await log.readOwner(OWNER, { after: 0, limit: 1_000, upTo });
    const wanted = events.map(({ owner: _owner, ...event }) => canonicalize(event));
    expect(withoutHashes().map((line) => line.replace(/,"leaf":"[^"]*"/, ''))).toEqual(
      wanted.slice(0, withoutHashes().length),
    );
    expect(withoutHashes().length).toBeGreaterThan(40);
  });

  it('An exported file is refused with the line where a byte was changed', async () => {
    for (const index of [1, 2, 9, lines().length - 1]) {
      const damaged = lines().map((line, at) =>
        at === index
          ? line.replace(/"at":(\d)/, (_whole, digit) => `"at":${9 - Number(digit)}`)
          : line,
      );
      expect(await refusedAt(joined(damaged))).toBe(index + 1);
    }
  });

  it('An exported file is refused with the line that is too short to have a hash', async () => {
    expect(await refusedAt(joined(lines().with(4, '{}')))).toBe(5);
  });

  it('An exported file is refused with the line of an event that is not JSON, although its hash is right', async () => {
    const bodyLines = withoutHashes();
    const body = new AuditBody();
    const bytes = body.add(bodyLines.with(4, (bodyLines[4] ?? '').replace(':', '')));
    const head = body.head(JSON.parse(lines()[0] ?? ''));
    expect(await refusedAt(head + bytes.toString())).toBe(6);
  });

  it('An exported file with an event that no projection can fold opens, and refuses questions that need its rows', async () => {
    const body = new AuditBody();
    const bytes = body.add(
      withoutHashes().map((line) => line.replace('"type":"LinkCreated"', '"type":"LinkDisabled"')),
    );
    const file = `${path}.unfoldable`;
    writeFileSync(file, body.head(JSON.parse(lines()[0] ?? '')) + bytes.toString());
    const { deps, file: opened } = await openFileForAudits(file);
    const asked = { input: { owner_id: OWNER }, requestId: 'r' };
    expect(await askFile(deps, 'auditState', asked)).toMatchObject({ ok: false });
    opened.close();
  });

  it('An exported file with a type, or a version of one, that this program does not know is refused with what it is', async () => {
    for (const [from, to, what] of [
      ['"type":"LinkCreated"', '"type":"LinkSold"', 'LinkSold of version 1'],
      ['"v":1},"position"', '"v":2},"position"', 'of version 2'],
    ] as const) {
      const body = new AuditBody();
      const bytes = body.add(withoutHashes().map((line) => line.replace(from, to)));
      writeFileSync(`${path}.newer`, body.head(JSON.parse(lines()[0] ?? '')) + bytes.toString());
      await expect(openAuditFile(`${path}.newer`)).rejects.toThrow(
        `${what}, which this program does not know`,
      );
    }
  });

  it('An exported file is refused with the line where an event is missing, doubled or in another place', async () => {
    const all = lines();
    expect(await refusedAt(joined(all.toSpliced(5, 1)))).toBe(6);
    expect(await refusedAt(joined(all.toSpliced(5, 0, all[5] ?? '')))).toBe(7);
    expect(await refusedAt(joined(all.toSpliced(5, 2, all[6] ?? '', all[5] ?? '')))).toBe(6);
  });

  it('An exported file is refused with the line after its last one if it is cut', async () => {
    const all = lines();
    expect(await refusedAt(joined(all.slice(0, -1)))).toBe(all.length);
    expect(await refusedAt(text.slice(0, -20))).toBe(all.length);
  });

  it('An exported file is refused if its head is missing, of another version, or of another body', async () => {
    const [head = '', ...body] = lines();
    expect(await refusedAt(joined(body))).toBe(1);
    expect(await refusedAt('')).toBe(1);
    const { head_sha256: _own, ...rest } = JSON.parse(head);
    for (const version of [2, 4]) {
      writeFileSync(`${path}.other`, joined([JSON.stringify({ ...rest, version }), ...body]));
      const refusal = `line 1: its version is ${version}; this program reads version 3`;
      await expect(openAuditFile(`${path}.other`)).rejects.toThrow(refusal);
    }
    expect(await refusedAt(joined([head.replace(/"sha256":"./, '"sha256":"z'), ...body]))).toBe(1);
  });

  it('An exported file is refused at its head wherever a byte of the head is changed', async () => {
    const whole = readFileSync(path);
    for (let index = 0; index <= whole.indexOf(10); index += 1) {
      const damaged = Buffer.from(whole);
      damaged[index] = (damaged[index] ?? 0) ^ 1;
      expect(await refusedAt(damaged), `byte ${index}`).toBeLessThanOrEqual(2);
    }
  });

  it('An exported file contains personal data in plain text only with a reason', async () => {
    expect(text).not.toContain('@shop.example');
    const open = await exported(app, OWNER, { query: '&reason=Dispute' });
    const { deps, file } = await openFileForAudits(open);
    const state = async (input: object) => {
      const asked = { owner_id: OWNER, kind: ['handoff'], limit: 100, ...input };
      return JSON.stringify(await askFile(deps, 'auditState', { input: asked, requestId: 'r' }));
    };
    expect(await state({})).toContain('[sealed]');
    expect(await state({})).not.toContain('@shop.example');
    expect(await state({ reason: 'Dispute' })).toContain('bea@shop.example');
    file.close();
    await exported(app, OWNER);
  });

  it('An exported file names the people at the desk in its head, and beside their acts', async () => {
    const { deps, file } = await openFileForAudits(path);
    const [actor = ''] = Object.keys(file.about.people ?? {});
    expect(file.about.people).toEqual({ [actor]: 'the machine' });
    const input = { owner_id: OWNER, actor, limit: 1 };
    expect(await askFile(deps, 'auditHistory', { input, requestId: 'r' })).toMatchObject({
      value: { data: [{ actor, actor_name: 'the machine' }] },
    });
    file.close();
  });

  it('An exported file from a later position contains the history, and refuses what needs the beginning', async () => {
    const late = await exported(app, OWNER, { query: '&from=12' });
    const { deps, file } = await openFileForAudits(late);
    const ask = (id: FileAuditId, input: object = {}) =>
      askFile(deps, id, { input: { owner_id: OWNER, ...input }, requestId: 'r' });
    for (const refused of [
      await ask('auditState'),
      await ask('auditDiff', { from: '20' }),
      await ask('auditPerformance'),
    ])
      expect(refused).toMatchObject({
        ok: false,
        code: 'parameter_invalid',
        detail: expect.stringMatching(/^The file begins after position 12, .* without from/),
      });
    expect(await ask('auditHistory')).toMatchObject({ ok: true });
    file.close();
  });
});
