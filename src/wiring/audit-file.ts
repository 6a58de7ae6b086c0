/** An exported file, opened without a log and without keys. */
import { CLASSIFIER_VERSION } from '#projections/index.ts';
import { Skips } from '#projections/engine/fold.ts';
import { ownerFolds } from '#projections/owner-fold.ts';
import { type AuditFile, openAuditFile } from '#src/stores/audit-file.ts';
import { KEY_MISSING } from '#src/sealing/sealed-texts.ts';
import { freshKeyring } from '#src/system/keyring.ts';
import { secretsOf } from '#src/system/secrets.ts';
import { type Replay, Replays, startReplay } from '#src/audits/replays.ts';
import { FactsCache } from '#src/performance/facts.ts';
import { Refused, refuse } from '#src/shared/outcome.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import type { ReadModels } from '#src/ports/read-model.ts';
import { systemClock } from '#src/system/ids.ts';
import type { OwnerAuditDeps } from '#src/audits/audit-state.ts';

export type OpenedAuditFile = { file: AuditFile; deps: OwnerAuditDeps };

/** A fold needs the owner's first event. */
const requireStart = ({ after }: AuditFile['about']): void => {
  if (after === 0) return;
  throw new Refused(
    refuse(
      'parameter_invalid',
      `The file begins after position ${after}, so it answers the history only. Export the owner without from, and ask that file.`,
    ),
  );
};

/** Checks the whole file, folds it, and makes what audits of it need. Throws AuditFileDamaged. */
export const openFileForAudits = async (
  path: string,
  onRead?: (events: number, total: number) => void,
): Promise<OpenedAuditFile> => {
  let replay: Replay | undefined;
  let isFolded = true;
  const onEvent = (event: FoldEvent, { after: start, skips }: AuditFile['about']): void => {
    if (start > 0 || !isFolded) return;
    try {
      replay ??= startReplay(ownerFolds(new Skips(skips)));
      replay.add(event);
    } catch {
      // A question that needs the fold tries again, and its refusal names the event.
      isFolded = false;
    }
  };
  const file = await openAuditFile(path, { onRead, onEvent });
  const { owner, after, up_to } = file.about;
  const people = new Map(Object.entries(file.about.people ?? {}));
  const isWhole = after === 0;
  const folds = ownerFolds(new Skips(file.about.skips));
  const replays = new Replays({
    audited() {
      requireStart(file.about);
      return folds.audited();
    },
    all: folds.all,
  });
  if (isWhole && isFolded && replay) replays.keep(owner, { ...replay, position: up_to });
  const atEnd = <Rows>(read: (rows: ReadModels) => Promise<Rows>): Promise<Rows> =>
    replays.at(file, { owner, position: up_to }, ({ rows }) => read(rows));
  const head = await file.head();
  const deps: OwnerAuditDeps = {
    log: file,
    replays,
    readModels: {
      get: async (name, scope, key) =>
        isWhole ? atEnd((rows) => rows.get(name, scope, key)) : undefined,
      list: async (name, query) => (isWhole ? atEnd((rows) => rows.list(name, query)) : []),
    },
    facts: new FactsCache(),
    personName: async (actor) => people.get(actor),
    following: { passed: async () => true, asOf: () => head },
    vault: { unseal: async (texts) => texts.map((text) => file.opened.get(text) ?? KEY_MISSING) },
    // Only for the cursors of this process.
    secrets: secretsOf(freshKeyring()),
    clock: systemClock(),
    classifierVersion: CLASSIFIER_VERSION,
  };
  return { file, deps };
};
