/** Exports an owner as the command does, over the operation of the desk. */
import { createReadStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { z } from 'zod';
import type { DeskOperations } from '#contracts/registries/desk.ts';
import { verifyExport } from '#src/proof/verifier.ts';
import { AuditBody } from '#src/stores/audit-file.ts';
import { untilServed } from '../clients/cli.ts';
import type { ChildService } from '../processes/child-service.ts';
import type { TestApp } from '../world/app.ts';

type Page = z.output<DeskOperations['auditExport']['output']>;

type Answer = { status: number; text: string };

/** What an export needs of a service, of this process or of another one. */
type Exporting = Pick<TestApp, 'directory'> & {
  desk(method: 'GET', path: string): Promise<Answer>;
  send(request: { method: 'GET'; url: string }): Promise<Answer>;
};

/** A service of another process; `directory` gets the files. */
export const served = (
  service: Pick<ChildService, 'url' | 'deskToken'> | undefined,
  directory: string,
): Exporting => {
  if (!service) throw new Error('the service is down');
  const { url: origin, deskToken } = service;
  const get = async (url: string, headers: Record<string, string> = {}): Promise<Answer> => {
    const response = await untilServed(() => fetch(origin + url, { headers }));
    return { status: response.status, text: await response.text() };
  };
  return {
    directory,
    desk: (_get, path) => get(`/api/desk/v1${path}`, { authorization: `Bearer ${deskToken}` }),
    send: ({ url }) => get(url),
  };
};

/** Writes the export of an owner in pages of `limit` lines, and returns the path of the file. */
export const exported = async (
  app: Exporting,
  owner: string,
  { query = '', limit = 7 }: { query?: string; limit?: number } = {},
): Promise<string> => {
  const file = join(app.directory, `${owner}.audit`);
  const body = new AuditBody();
  const people: Page['people'] = {};
  const parts: Buffer[] = [];
  let next = '';
  let page: Page;
  let proof: Page['proof'];
  do {
    const path = `/audit/events?owner_id=${owner}&limit=${limit}${query}${next}`;
    const answer = await app.desk('GET', path);
    if (answer.status !== 200) throw new Error(answer.text);
    page = JSON.parse(answer.text) as Page;
    parts.push(Buffer.from(body.add(page.lines)));
    Object.assign(people, page.people);
    proof ??= page.proof;
    next = `&to=${page.to.position}&after=${String(page.next_after)}`;
  } while (page.next_after !== null);
  const { log, classifier_version, from, to, skips } = page;
  const about = { log, classifier_version, owner, people, skips, after: from.position };
  const head = body.head({ ...about, ...(proof && { proof }), up_to: to.position, at: to.at });
  writeFileSync(file, Buffer.concat([Buffer.from(head), ...parts]));
  return file;
};

/** Expects that the whole history of each owner verifies, under the keys that the service publishes. */
export const expectProved = async (
  app: Exporting,
  owners: readonly string[],
  hint = '',
): Promise<void> => {
  const { text } = await app.send({ method: 'GET', url: '/proof/key' });
  const keys = text.trim().split('\n');
  for (const owner of owners) {
    const file = await exported(app, owner, { limit: 1_000 });
    const found = await verifyExport(createReadStream(file), { keys });
    const wanted = { status: 0, isProved: true, isKeyChecked: true };
    expect(found, `${owner} ${hint}`).toMatchObject(wanted);
  }
};
