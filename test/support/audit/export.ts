/** Exports an owner as the command does, over the operation of the desk. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AuditBody } from '#src/adapters/audit-file-body.ts';
import type { TestApp } from '../world/app.ts';

type Page = {
  log: string;
  lines: string[];
  next_after: number | null;
  from: { position: number };
  to: { position: number; at: string | null };
  classifier_version: number;
};

/** Writes the export of an owner in pages of `limit` lines, and returns the path of the file. */
export const exported = async (
  app: TestApp,
  owner: string,
  { query = '', limit = 7 }: { query?: string; limit?: number } = {},
): Promise<string> => {
  const body = new AuditBody();
  let text = '';
  let next = '';
  for (;;) {
    const path = `/audit/events?owner_id=${owner}&limit=${limit}${query}${next}`;
    const answer = await app.desk('GET', path);
    if (answer.status !== 200) throw new Error(answer.text);
    const page = answer.body as Page;
    text += body.add(page.lines);
    next = `&to=${page.to.position}&after=${String(page.next_after)}`;
    if (page.next_after !== null) continue;
    const { log, classifier_version, from, to } = page;
    const about = {
      log,
      classifier_version,
      owner,
      after: from.position,
      up_to: to.position,
      at: to.at,
    };
    const file = join(app.directory, `${owner}.audit`);
    writeFileSync(file, body.head(about) + text);
    return file;
  }
};
