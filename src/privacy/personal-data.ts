/** What staff do with all records of a person. */
import {
  type DeskHandler,
  isBound,
  mayActFor,
  NO_OWNER,
  soleOwner,
} from '#src/calls/desk-handler.ts';
import { recordRequest, renderSuppression } from '#src/sealing/suppression.ts';
import type { DeskCall } from '#src/shared/call.ts';
import { chosenMatches } from '#src/shared/mailbox.ts';
import { done, isRefusal, type Refusal, refuseField } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { traceOf } from '#src/writing/decide-and-append.ts';
import {
  findRecords,
  type FoundRecord,
  erasedFor,
  eraseRecords,
  exportRecord,
  rightOver,
} from './find-records.ts';

const allowedFor =
  (call: DeskCall) =>
  (ownerId: string): boolean =>
    mayActFor(call, ownerId);

/** The records that the caller chose, or a refusal of an id that is none of them. */
const chosenFrom = (
  found: readonly FoundRecord[],
  folded: readonly string[],
): FoundRecord[] | Refusal => {
  const unknown = folded.findIndex((id) => !found.some((record) => record.id === id));
  return unknown === -1
    ? chosenMatches(found, folded)
    : refuseField(`/folded/${unknown}`, 'not_found', 'is no record of this mailbox');
};

/** The owner that may not contact the person, as given or as the token is bound; none for every owner. */
const scopeOf = (call: DeskCall, owner_id: string | undefined): { owner_id?: string } | Refusal => {
  const owner = owner_id ?? soleOwner(call);
  const mayAct = owner === undefined ? !isBound(call) : mayActFor(call, owner);
  return mayAct ? present({ owner_id: owner }) : NO_OWNER;
};

export const findPersonalData: DeskHandler<'findPersonalData'> = async (deps, input, call) => {
  const { mailbox: email, proof } = input;
  const written = await recordRequest(deps, call, { email, proof, action: 'find' });
  if (!written.ok) return written;
  const found = await findRecords(deps, email, allowedFor(call));
  const data = await Promise.all(
    found.map(async (record) => ({
      ...record,
      erased: (await deps.vault.knows(record.id)) === 'destroyed',
    })),
  );
  const contact = renderSuppression(written.state.suppression);
  return done({ data, contact }, traceOf(written));
};

export const exportPersonalData: DeskHandler<'exportPersonalData'> = async (deps, input, call) => {
  const { mailbox: email, proof, folded } = input;
  const records = chosenFrom(await findRecords(deps, email, allowedFor(call)), folded);
  if (isRefusal(records)) return records;
  const written = await recordRequest(deps, call, { email, proof, action: 'export' });
  if (!written.ok) return written;
  const data = await Promise.all(
    records.map((record) => exportRecord(deps, call, { ...record, email })),
  );
  const contact = renderSuppression(written.state.suppression);
  return done({ data, contact }, traceOf(written));
};

export const refuseContact: DeskHandler<'refuseContact'> = async (deps, input, call) => {
  const { mailbox: email, proof } = input;
  const suppress = scopeOf(call, input.owner_id);
  if (isRefusal(suppress)) return suppress;
  const written = await recordRequest(deps, call, { email, proof, action: 'withdraw', suppress });
  if (!written.ok) return written;
  const found = await findRecords(
    deps,
    email,
    (owner) => mayActFor(call, owner) && (suppress.owner_id ?? owner) === owner,
  );
  const data = await Promise.all(
    found.map(async (record) => ({ ...record, right: await rightOver(deps, record) })),
  );
  const contact = renderSuppression(written.state.suppression);
  return done({ data, contact }, traceOf(written));
};

export const allowContact: DeskHandler<'allowContact'> = async (deps, input, call) => {
  const { mailbox: email, proof } = input;
  const lift = scopeOf(call, input.owner_id);
  if (isRefusal(lift)) return lift;
  const written = await recordRequest(deps, call, { email, proof, action: 'lift', lift });
  return written.ok
    ? done({ contact: renderSuppression(written.state.suppression) }, traceOf(written))
    : written;
};

export const erasePersonalData: DeskHandler<'erasePersonalData'> = async (deps, input, call) => {
  const { mailbox: email, proof, folded } = input;
  const chosen = chosenFrom(await findRecords(deps, email, allowedFor(call)), folded);
  if (isRefusal(chosen)) return chosen;
  const suppress = scopeOf(call, undefined);
  if (isRefusal(suppress)) return suppress;
  const written = await recordRequest(deps, call, {
    email,
    proof,
    action: 'erase',
    records: await erasedFor(deps, email, chosen),
    ...(!input.allow_contact && { suppress }),
  });
  if (!written.ok) return written;
  // A repeated call continues with the records of the first one.
  const { records = [] } = written.state.request;
  const refusal = await eraseRecords(deps, call, records);
  if (refusal) return refusal;
  const data = records.map(({ owner_id, record, contact_subject }) => ({
    id: record,
    owner_id,
    ...(contact_subject !== undefined && { only: 'rfq' as const }),
  }));
  const contact = renderSuppression(written.state.suppression);
  return done({ data, contact }, traceOf(written));
};
