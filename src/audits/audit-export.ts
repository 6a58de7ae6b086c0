/** The operation that exports an owner's history into a file. */
import { type EventText, ownerOfStream, type Position } from '#src/ports/event-log.ts';
import { done, isRefusal, refuseParameter } from '#src/shared/outcome.ts';
import { openTexts } from '#src/sealing/sealed-texts.ts';
import { canonicalJson, present } from '#src/shared/json.ts';
import { vaultFor } from './audit-state.ts';
import { auditedRange, renderMoment } from './moments.ts';
import { namePeople } from '#src/access/independence.ts';
import type { Hash } from '#src/proof/merkle.ts';
import { exportMark, markTree, proveExport } from '#src/proof/notary.ts';
import type { DeskHandler } from '#src/calls/desk-handler.ts';
import { type AuditingDeps, pagesOf } from './replays.ts';

/** Sealed texts begin with the version of their form and the id of their subject. */
const SEALED_TEXT = /^s\d+\.(?:led|hnd)_/;

const sealedIn = (value: unknown): string[] => {
  if (typeof value === 'string') return SEALED_TEXT.test(value) ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(sealedIn);
};

const canonicalText = (json: string): string => canonicalJson(JSON.parse(json) as object);

type Beside = {
  /** Its sealed texts that could be opened, in plain text. */
  opened: Readonly<Record<string, string>>;
  /** The hash of its leaf in the tree of the log. */
  leaf: Hash | undefined;
};

/** Returns the event in canonical JSON, with what the file has beside it. */
const lineOf = (
  { position, stream, revision, id, type, data, meta }: EventText,
  { opened, leaf }: Beside,
): string => {
  const members = [
    `{"data":${canonicalText(data)}`,
    `"id":${JSON.stringify(id)}`,
    ...(leaf ? [`"leaf":"${leaf.toString('base64')}"`] : []),
    `"meta":${canonicalText(meta)}`,
    ...(Object.keys(opened).length > 0 ? [`"opened":${canonicalJson(opened)}`] : []),
    `"position":${position}`,
    `"revision":${revision}`,
    `"stream":${JSON.stringify(stream)}`,
    `"type":${JSON.stringify(type)}}`,
  ];
  return members.join(',');
};

/** Finds the actor, whose id has no escape, in an attribution. */
const ACTOR = /"actor":"([^"\\]*)"/;
const actorIn = (meta: string): string => ACTOR.exec(meta)?.[1] ?? '';

export const auditExport: DeskHandler<'auditExport', AuditingDeps> = async (deps, input, call) => {
  const { owner_id: owner, after, limit, reason, since } = input;
  const proof = deps.proof();
  // So that the newest checkpoint covers what is in the log now. Later pages are of the range that the first one had.
  if (after === undefined) await markTree({ ...deps, ...proof });
  if (since !== undefined && !proof.tree.markAt(since))
    return refuseParameter(
      '/since',
      'unknown',
      `The log has no checkpoint of ${since}. If its notary signed one, the log was rewritten: keep it as evidence.`,
    );
  const mark = after === undefined ? exportMark(proof, owner, since) : undefined;
  const to = input.to ?? (mark && String(mark.newest.position));
  const range = await auditedRange(deps, call, { owner, from: input.from, to });
  if (isRefusal(range)) return range;
  const { from, to: end } = range;
  const opening = vaultFor(deps, call, reason);
  if (isRefusal(opening)) return opening;
  const [last] = await deps.log.readBack({ upTo: end.position, limit: 1, owner });
  // The position of the owner's last event, so that a range has the same bytes whatever others wrote.
  const upTo = Math.max(from.position, last?.position ?? 0);
  const start = Math.max(from.position, after ?? 0);
  const { events, next } = await textsOf(deps, owner, { after: start, upTo, limit });
  const leaves = proof.tree.leavesOf(owner, { after: start, upTo: next ?? upTo });
  return done({
    log: deps.log.id,
    lines: await linesOf(events, { vault: opening.vault, leaves }),
    next_after: next === upTo ? null : next,
    from: renderMoment(from),
    to: renderMoment({ ...end, position: upTo }),
    classifier_version: deps.classifierVersion,
    ...present({
      proof: mark && proveExport(proof, mark, { owner, after: from.position, upTo }),
    }),
    people: await namePeople(
      deps,
      events.map(({ meta }) => actorIn(meta)),
    ),
    skips: deps.projections.skipped().filter(({ stream }) => ownerOfStream(stream) === owner),
  });
};

/** An answer ends after this many characters of events, however few they are. */
const ANSWER_CHARS_MAX = 4_194_304;

type Page = { after: Position; upTo: Position; limit: number };

/** Reads events up to the limit of an answer; `next` is the position of the last one if there may be more. */
const textsOf = async (
  { log }: Pick<AuditingDeps, 'log'>,
  owner: string,
  { limit, ...range }: Page,
): Promise<{ events: EventText[]; next: Position | null }> => {
  const events: EventText[] = [];
  let chars = 0;
  const read = (asked: Page) => log.readOwnerText(owner, asked);
  for await (const page of pagesOf(read, range))
    for (const event of page) {
      events.push(event);
      chars += event.data.length;
      if (events.length >= limit || chars >= ANSWER_CHARS_MAX)
        return { events, next: event.position };
    }
  return { events, next: null };
};

const linesOf = async (
  events: readonly EventText[],
  {
    vault,
    leaves,
  }: { vault: Parameters<typeof openTexts>[0] | undefined; leaves: ReadonlyMap<Position, Hash> },
): Promise<string[]> => {
  const leafOf = ({ position }: EventText) => leaves.get(position);
  if (!vault) return events.map((event) => lineOf(event, { opened: {}, leaf: leafOf(event) }));
  const sealed = events.map(({ data }) => sealedIn(JSON.parse(data)));
  const plain = await openTexts(vault, sealed.flat());
  return events.map((event, index) => {
    const pairs = (sealed[index] ?? []).flatMap((text): [string, string][] => {
      const opened = plain(text);
      return typeof opened === 'string' ? [[text, opened]] : [];
    });
    return lineOf(event, { opened: Object.fromEntries(pairs), leaf: leafOf(event) });
  });
};
