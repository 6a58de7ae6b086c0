/** A notary over a log, without a service, and the files of its owner. */
import canonicalize from 'canonicalize';
import { checkpointOf, exportMark, type ProofDeps, proveExport } from '#src/proof/notary.ts';
import { signerOf } from '#src/proof/note.ts';
import { LogTree } from '#src/proof/tree.ts';
import { type Verdict, verifyExport, type VerifyOptions } from '#src/proof/verifier.ts';
import { type PostText, type Witness, Witnesses } from '#src/proof/witnesses.ts';
import type { EventLog, EventText } from '#src/ports/event-log.ts';
import type { ProofStore } from '#src/ports/proof-store.ts';
import type { Clock } from '#src/ports/system.ts';
import { AuditBody } from '#src/stores/audit-file.ts';
import { sqliteProofStore } from '#src/stores/sqlite/proof-store.ts';
import { systemClock, systemIds } from '#src/system/ids.ts';

export const OWNER = 'acme';
export const SIGNERS: ProofDeps['signers'] = [signerOf('tributary/test', Buffer.alloc(32, 7))];
const ids = systemIds();

export const nobodyAnswers: PostText = () => Promise.reject(new Error('nobody answers'));

type Options = {
  clock?: Clock;
  witnesses?: readonly Witness[];
  post?: PostText;
  /** What the tree uses in place of the store. */
  through?: (store: ProofStore) => ProofStore;
};

/** A notary whose tree is in the file at `path`. */
export const notaryAt = (
  path: string,
  log: EventLog,
  { clock = systemClock(), witnesses = [], post = nobodyAnswers, through }: Options = {},
) => {
  const store = sqliteProofStore(path);
  return {
    log,
    clock,
    ids,
    signers: SIGNERS,
    store,
    tree: new LogTree(log, through?.(store) ?? store),
    witnesses: new Witnesses(witnesses, { post, store }),
  };
};
export type TestNotary = ReturnType<typeof notaryAt>;

const meta = { at: 1, actor: 'system', surface: 'system', operation: 'test', request: 'r', v: 1 };

const codeClaimed = (code: string, link_id = 'lnk_1') => ({
  id: ids.uuid(),
  type: 'CodeClaimed',
  data: { code, link_id, owner_id: OWNER },
  meta,
});

export const claimedCodes = (count: number) =>
  Array.from({ length: count }, (_, place) => codeClaimed(String(place)));

/** Appends an event of the owner, of a stream of its own. */
export const claimCode = (log: EventLog, code: string, link_id?: string) =>
  log.append(`${OWNER}-code_${code}`, -1, [codeClaimed(code, link_id)]);

export const newestNote = (notary: TestNotary): string => {
  const { newest } = notary.tree;
  if (!newest) throw new Error('there is no mark');
  return checkpointOf(notary, newest);
};

/** The export of the owner, as the command writes it; `since` is the size of a checkpoint that it continues. */
export const fileOf = async (notary: TestNotary, since?: number): Promise<Buffer> => {
  const { position } = await notary.log.head();
  const events: EventText[] = [];
  const read = (after: number) =>
    notary.log.readOwnerText(OWNER, { after, limit: 10_000, upTo: position });
  for (let page = await read(0); page.length > 0; page = await read(events.at(-1)?.position ?? 0))
    events.push(...page);
  const leaves = notary.tree.leavesOf(OWNER, { after: 0, upTo: position });
  const body = new AuditBody();
  const lines = events.map(({ owner: _owner, data, meta, ...event }) => {
    const leaf = leaves.get(event.position)?.toString('base64');
    return String(canonicalize({ ...event, data: JSON.parse(data), meta: JSON.parse(meta), leaf }));
  });
  const bytes = Buffer.from(body.add(lines));
  const up_to = events.at(-1)?.position ?? 0;
  const mark = exportMark(notary, OWNER, since);
  const proof = mark && proveExport(notary, mark, { owner: OWNER, after: 0, upTo: up_to });
  const about = { after: 0, at: null, classifier_version: 1, log: 'l', owner: OWNER, up_to };
  return Buffer.concat([Buffer.from(body.head({ ...about, ...(proof && { proof }) })), bytes]);
};

export const verifyFile = (file: Buffer, options: VerifyOptions = {}): Promise<Verdict> => {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield file;
  }
  return verifyExport(chunks(), options);
};
