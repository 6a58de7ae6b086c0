/** What staff do with all records of a person. */
import type { EventData } from '#contracts/events/index.ts';
import { mailboxRequests, type MailboxState } from '#src/domain/privacy/mailbox-requests.ts';
import { decideAndAppend, traceOf, type Written } from '../events/decide-and-append.ts';
import { handoffOf, leadOf } from '../records/streams.ts';
import { showHandoff } from '../handoffs/render-handoff.ts';
import { showLead } from '../leads/render-lead.ts';
import { DESK } from '../pipeline/audit.ts';
import { type Call, type DeskCall, unkeyed } from '../pipeline/call.ts';
import type { Deps } from '../pipeline/deps.ts';
import { type DeskHandler, mayActFor } from '../pipeline/desk-handler.ts';
import { done, isRefusal, type Refusal, refuseField } from '../pipeline/outcome.ts';
import { present } from '../shared/present.ts';
import { eraseRecord } from './erase-subject.ts';
import { countUnindexed, findRecords, type FoundRecord } from './find-records.ts';
import { deriveMailboxKeys } from './mailbox-keys.ts';
import { openOne } from './sealed-texts.ts';

type RequestedFor = { email: string } & Pick<
  EventData<'PrivacyRequestRecorded'>,
  'action' | 'proof' | 'records'
>;

/** Records what was asked for the person of an address. A repeated call gets the request that it recorded first. */
const recordRequest = async (
  deps: Deps,
  call: Call,
  { email, ...request }: RequestedFor,
): Promise<Written<MailboxState> | Refusal> => {
  const keys = deriveMailboxKeys(deps.secrets, email);
  const written = await decideAndAppend(
    deps,
    { ...call, ownerId: DESK },
    {
      stream: `${DESK}-mailbox_${keys.mailbox}`,
      decider: mailboxRequests,
      command: () => ({
        type: 'RecordRequest' as const,
        request: { mailbox_keys: keys, ...request },
      }),
    },
  );
  if ('rejected' in written) throw new Error(`${request.action} was rejected`);
  return written;
};

const allowedFor =
  (call: DeskCall) =>
  (ownerId: string): boolean =>
    mayActFor(call, ownerId);

/** The exact matches, and the folded ones that the caller named. */
const chosenFrom = (
  found: readonly FoundRecord[],
  folded: readonly string[],
): FoundRecord[] | Refusal => {
  const unknown = folded.findIndex((id) => !found.some((record) => record.id === id));
  return unknown === -1
    ? found.filter(({ id, match }) => match === 'exact' || folded.includes(id))
    : refuseField(`/folded/${unknown}`, 'not_found', 'is no record of this mailbox');
};

export const findPersonalData: DeskHandler<'findPersonalData'> = async (deps, input, call) => {
  const { mailbox: email, proof } = input;
  const written = await recordRequest(deps, call, { email, proof, action: 'find' });
  if (!written.ok) return written;
  const unindexed = await countUnindexed(deps);
  const found = await findRecords(deps, email, allowedFor(call));
  const data = await Promise.all(
    found.map(async (record) => ({
      ...record,
      erased: (await deps.vault.knows(record.id)) === 'destroyed',
    })),
  );
  return done({ data, complete: unindexed === 0, unindexed }, traceOf(written));
};

export const exportPersonalData: DeskHandler<'exportPersonalData'> = async (deps, input, call) => {
  const { mailbox: email, proof, folded } = input;
  const records = chosenFrom(await findRecords(deps, email, allowedFor(call)), folded);
  if (isRefusal(records)) return records;
  const written = await recordRequest(deps, call, { email, proof, action: 'export' });
  if (!written.ok) return written;
  const complete = (await countUnindexed(deps)) === 0;
  const data = await Promise.all(records.map((record) => exportRecord(deps, call, record)));
  return done({ data, complete }, traceOf(written));
};

const exportRecord = async (deps: Deps, { at }: Call, record: FoundRecord) => {
  const { id, owner_id: ownerId } = record;
  if (id.startsWith('led_')) {
    const lead = await leadOf(deps, ownerId, id);
    return {
      ...record,
      ...present({ lead: lead && (await showLead(deps, lead, { ownerId, at })) }),
    };
  }
  const state = await handoffOf(deps, ownerId, id);
  if (!state) return record;
  const { review_url: _credential, ...handoff } = await showHandoff(deps, state, { ownerId, at });
  const contact = state.rfq && (await openOne(deps.vault, state.rfq.contact));
  return {
    ...record,
    handoff,
    ...(contact && { contact: JSON.parse(contact) as { email: string } }),
  };
};

export const erasePersonalData: DeskHandler<'erasePersonalData'> = async (deps, input, call) => {
  const { mailbox: email, proof, folded } = input;
  const chosen = chosenFrom(await findRecords(deps, email, allowedFor(call)), folded);
  if (isRefusal(chosen)) return chosen;
  const written = await recordRequest(deps, call, {
    email,
    proof,
    action: 'erase',
    records: chosen.map(({ id, owner_id }) => ({ owner_id, record: id })),
  });
  if (!written.ok) return written;
  // A repeated call continues with the records of the first one.
  const { records = [] } = written.state.request;
  for (const { owner_id: ownerId, record: subject } of records) {
    const erased = await eraseRecord(
      deps,
      { ...unkeyed(call), ownerId },
      { subject, reason: 'A person asked for it.' },
    );
    if (!erased.ok) return erased;
  }
  const complete = (await countUnindexed(deps)) === 0;
  const data = records.map(({ owner_id, record }) => ({ id: record, owner_id }));
  return done({ data, complete }, traceOf(written));
};
