/** Exports an owner as the command does, over the operation of the desk. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import type { DeskOperations } from '#contracts/desk/index.ts';
import { AuditBody } from '#src/adapters/audit-file-body.ts';
import type { TestApp } from '../world/app.ts';

type Page = z.output<DeskOperations['auditExport']['output']>;

/** Writes the export of an owner, whose pages `ask` reads from the desk; returns its number of events. */
export const writeExport = async (
  file: string,
  owner: string,
  { ask, query = '' }: { ask(path: string): Promise<object>; query?: string },
): Promise<number> => {
  const body = new AuditBody();
  const people: Page['people'] = {};
  // In parts, because a large owner does not fit into one string.
  const parts: Buffer[] = [];
  let next = '';
  let page: Page;
  do {
    page = (await ask(`/audit/events?owner_id=${owner}${query}${next}`)) as Page;
    parts.push(body.add(page.lines));
    Object.assign(people, page.people);
    next = `&to=${page.to.position}&after=${String(page.next_after)}`;
  } while (page.next_after !== null);
  const { log, classifier_version, from, to } = page;
  const about = { log, classifier_version, owner, people, after: from.position };
  const out = openSync(file, 'w');
  writeSync(out, body.head({ ...about, up_to: to.position, at: to.at }));
  for (const part of parts) writeSync(out, part);
  closeSync(out);
  return body.events;
};

/** Writes the export of an owner in pages of `limit` lines, and returns the path of the file. */
export const exported = async (
  app: TestApp,
  owner: string,
  { query = '', limit = 7 }: { query?: string; limit?: number } = {},
): Promise<string> => {
  const file = join(app.directory, `${owner}.audit`);
  const ask = async (path: string): Promise<object> => {
    const answer = await app.desk('GET', path);
    if (answer.status !== 200) throw new Error(answer.text);
    return answer.body;
  };
  await writeExport(file, owner, { ask, query: `&limit=${limit}${query}` });
  return file;
};
