/** Exports an owner as the command does, over the operation of the desk. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import type { DeskOperations } from '#contracts/registries/desk.ts';
import { AuditBody } from '#src/stores/audit-file.ts';
import { markTree } from '#src/proof/notary.ts';
import type { TestApp } from '../world/app.ts';

type Page = z.output<DeskOperations['auditExport']['output']>;

/** Writes the export of an owner in pages of `limit` lines, and returns the path of the file. */
export const exported = async (
  app: TestApp,
  owner: string,
  { query = '', limit = 7 }: { query?: string; limit?: number } = {},
): Promise<string> => {
  const { deps } = app.service;
  await markTree({ ...deps.proof(), ...deps });
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
    page = answer.body;
    parts.push(Buffer.from(body.add(page.lines)));
    Object.assign(people, page.people);
    proof ??= page.proof;
    next = `&to=${page.to.position}&after=${String(page.next_after)}`;
  } while (page.next_after !== null);
  const { log, classifier_version, from, to } = page;
  const about = { log, classifier_version, owner, people, after: from.position };
  const head = body.head({ ...about, ...(proof && { proof }), up_to: to.position, at: to.at });
  writeFileSync(file, Buffer.concat([Buffer.from(head), ...parts]));
  return file;
};
