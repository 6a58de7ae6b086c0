/** Receipts: a file for each leaf that a command wrote, which proves it to a stranger (C2SP tlog-proof). */
import { TOOL_PROOF_CHARS_MAX } from '#contracts/proof/operations.ts';
import type { Deps, Handler } from '#src/calls/handlers.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import { bindingOf, readCursor, writeCursor } from '#src/reading/lists.ts';
import { findEvents, timeOfRequest } from '#src/reading/read-back.ts';
import type { AgentCall } from '#src/shared/call.ts';
import { done, isRefusal, refuse } from '#src/shared/outcome.ts';
import { checkpointOf, type ProofDeps } from './notary.ts';
import { KEYS, leafText, type LogTree, NOTARY } from './tree.ts';

/** `proof` is absent while no checkpoint covers the leaf. */
export type Receipt = { event_id: string; type: string; stream: string; proof?: string };

/** By then a checkpoint covers what is in the log now. */
export const RECEIPT_MS = 1_500;

/** The leaf of an event: its text, and its place in the tree. */
const leafOf = (tree: LogTree, event: StoredEvent): { text: string; index: number } | undefined => {
  const { owner, position } = event;
  const own = tree.leafUpTo(owner, position);
  if (own?.position !== position) return undefined;
  const previous = tree.leafUpTo(owner, position - 1)?.leaf.toString('base64') ?? '';
  return { text: leafText(event, { sequence: own.sequence, previous }), index: own.index };
};

/** The text of the leaf is in the file, as its extra data, so that the file is all that a stranger needs. */
const proofText = (deps: ProofDeps, event: StoredEvent): string | undefined => {
  const { tree } = deps;
  const { newest } = tree;
  const leaf = leafOf(tree, event);
  if (!leaf || !newest || leaf.index >= newest.size) return undefined;
  const path = tree.inclusion(leaf.index, newest.size).map((one) => one.toString('base64'));
  const extra = `extra ${Buffer.from(leaf.text).toString('base64')}`;
  const lines = ['c2sp.org/tlog-proof@v1', extra, `index ${leaf.index}`, ...path];
  return `${lines.join('\n')}\n\n${checkpointOf(deps, newest)}`;
};

/** The receipts of events, in their order, as of what the tree has. Reads no log. */
export const receiptsOf = (deps: ProofDeps, events: readonly StoredEvent[]): Receipt[] =>
  events
    .filter(({ owner }) => owner !== KEYS && owner !== NOTARY)
    .map((event) => {
      const proof = proofText(deps, event);
      const { id: event_id, type, stream } = event;
      return { event_id, type, stream, ...(proof !== undefined && { proof }) };
    });

/** How long to wait before asking again; null if every receipt is there. */
export const waitOf = (receipts: readonly Receipt[]): number | null =>
  receipts.every(({ proof }) => proof !== undefined) ? null : RECEIPT_MS;

/** What the receipts of agents need. */
export type ReceiptDeps = Deps & { proof(): ProofDeps };

export const NO_RECEIPT = refuse(
  'resource_not_found',
  'No request in the log has this id. A request that wrote no event has no receipt.',
);

/** The events that the agent wrote with a request. */
const ownEvents = async (
  { log }: Pick<Deps, 'log'>,
  id: string,
  { ownerId: owner, actor }: AgentCall,
): Promise<StoredEvent[]> => {
  const time = timeOfRequest(id);
  if (time === undefined) return [];
  const isOf = ({ meta }: StoredEvent): boolean => meta.request === id && meta.actor === actor;
  const { position: head } = await log.head();
  return (await findEvents(log, { owner, time, head, isOf })).events;
};

const fitForTool = ({ proof, ...receipt }: Receipt) => {
  if (proof === undefined) return receipt;
  return proof.length > TOOL_PROOF_CHARS_MAX
    ? { ...receipt, too_large: true as const }
    : { ...receipt, proof };
};

export const getReceipt: Handler<'getReceipt', ReceiptDeps> = async (deps, input, call) => {
  const { request_id, limit, cursor } = input;
  const binding = bindingOf(call.ownerId, 'getReceipt', input);
  const after = cursor === undefined ? { place: 0 } : readCursor(deps, binding, cursor);
  if (isRefusal(after)) return after;
  const events = await ownEvents(deps, request_id, call);
  if (events.length === 0) return NO_RECEIPT;
  const later = events.filter(({ position }) => position > after.place);
  const shown = later.slice(0, limit);
  const last = later.length > limit ? shown.at(-1) : undefined;
  const proof = deps.proof();
  await proof.tree.advance();
  const receipts = receiptsOf(proof, shown);
  return done({
    data: receipts.map(fitForTool),
    retry_after_ms: waitOf(receipts),
    page: {
      next_cursor: last ? writeCursor(deps, binding, last.position) : null,
      has_more: last !== undefined,
    },
  });
};
