/**
 * What people keep outside of the stores: the export of an owner, the receipt of a request, the published key, a checkpoint
 * and a backup. The script that writes fixtures keeps them, and tests open them.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ended, until } from '../../support/clients/cli.ts';
import { type ChildService, runCli } from '../../support/processes/child-service.ts';
import { readDesk } from './services.ts';

const FILES = {
  export: 'acme.audit',
  receipt: 'receipt.json',
  key: 'key.txt',
  checkpoint: 'checkpoint.note',
  backup: 'backup',
};
export type Kept = Record<keyof typeof FILES, string>;

/** The paths of what is kept in a directory. */
export const keptIn = (directory: string): Kept =>
  Object.fromEntries(
    Object.entries(FILES).map(([name, file]) => [name, join(directory, file)]),
  ) as Kept;

/** Makes a link, and resolves to the id of the request once a checkpoint covers what it wrote. */
const coveredRequest = async (service: ChildService, apiKey: string): Promise<string> => {
  const { headers, status } = await fetch(`${service.url}/api/affiliate/v1/links`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'idempotency-key': 'kept-link',
    },
    body: JSON.stringify({ target: { kind: 'search', ref: 'bowls' } }),
  });
  const id = headers.get('request-id');
  if (status !== 201 || id === null) throw new Error(`no link was made: ${status}`);
  type Receipts = { retry_after_ms: number | null };
  const isCovered = async (): Promise<boolean> => {
    const { retry_after_ms } = await readDesk<Receipts>(service, `/audit/receipts/${id}`);
    return retry_after_ms === null;
  };
  if (!(await until(isCovered))) throw new Error(`no checkpoint covers ${id}`);
  return id;
};

/** Keeps all of it in the directory `into`, with the command line of the checkout. */
export const keep = async (
  service: ChildService,
  { apiKey, checkout, data, into }: Record<'apiKey' | 'checkout' | 'data' | 'into', string>,
): Promise<void> => {
  const paths = keptIn(into);
  const tributary = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await ended(runCli([...args, '--data', data], {}, checkout));
    if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
    return stdout;
  };
  const download = async (path: string): Promise<string> => {
    const answer = await fetch(`${service.url}${path}`);
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    return answer.text();
  };
  const id = await coveredRequest(service, apiKey);
  writeFileSync(paths.receipt, await tributary('audit', 'receipt', id, '--json'));
  writeFileSync(paths.key, await download('/proof/key'));
  writeFileSync(paths.checkpoint, await download('/proof/checkpoint'));
  await tributary('audit', 'export', paths.export, '--owner', 'acme');
  await tributary('backup', paths.backup, '--with-root-key');
};
