/** Finds records by what people name them with: references, beginnings of ids, names, companies, titles and SKUs. */
import type { z } from 'zod';
import type { recordsDeskOperations } from '#contracts/records/operations.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { type DeskHandler, type DeskInput, isBound, mayActFor } from '#src/calls/desk-handler.ts';
import type { HandoffState } from '#src/handoffs/handoff.decider.ts';
import { contactOf } from '#src/handoffs/render-handoff.ts';
import type { LeadState } from '#src/leads/lead.decider.ts';
import {
  accessScope,
  type AgentRow,
  ALL_OWNERS,
  ALL_RECORDS,
  BEGINNING_OF_ID,
  foldedWords,
  listBy,
  listOfBeginning,
  type NamedRow,
  type OwnerRow,
} from '#src/ports/rows.ts';
import { findRecords } from '#src/privacy/find-records.ts';
import { ownerSpaces } from '#src/reading/find-owner.ts';
import { suppressionInRows } from '#src/sealing/suppression.ts';
import type { DeskCall } from '#src/shared/call.ts';
import { done } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { readReference, referenceOf } from '#src/ports/reference.ts';
import { renderAsOf } from '#src/shared/time.ts';

type Found = z.output<(typeof recordsDeskOperations)['searchDesk']['output']>['data'][number];
type Input = DeskInput<'searchDesk'>;

/** Rows of one list that are read. */
const ROWS_MAX = 100;
/** The newest records whose companies and titles are compared. Each costs a row, and the opening of a contact. */
const NEWEST_MAX = 300;
/** Owners whose agents are compared by name. */
const OWNERS_MAX = 200;

const recordFound = ({ owner, record }: NamedRow, by: Found['by'], name?: string): Found => ({
  kind: record.startsWith('led_') ? 'lead' : 'handoff',
  id: record,
  reference: referenceOf(record),
  owner_id: owner,
  by,
  ...present({ name }),
});

const namedIn = async ({ readModels }: Pick<Deps, 'readModels'>, list: string) => {
  const query = { scope: ALL_RECORDS, list, limit: ROWS_MAX };
  return (await readModels.list<NamedRow>('named-records', query)).map(({ row }) => row);
};

const ID = new RegExp(`^([a-z]{3})_([0-9a-z]{${BEGINNING_OF_ID},24})$`);

/** Records whose id begins with the text. */
const byId = async (deps: Deps, text: string): Promise<Found[]> => {
  const [, prefix] = ID.exec(text) ?? [];
  if (prefix === 'hnd' || prefix === 'led') {
    const rows = await namedIn(deps, listOfBeginning(text));
    return rows
      .filter(({ record }) => record.startsWith(text))
      .map((row) => recordFound(row, 'id'));
  }
  if (prefix === 'prd')
    return deps.catalog
      .startingWith('product_id', text, ROWS_MAX)
      .map((id) => ({ kind: 'product', id, by: 'id' }));
  return [];
};

/** The words of a text without capitals and accents. */
const foldedText = (text: string | undefined): string => foldedWords(text ?? '').join(' ');

const ownerFound = (owner: string): Found => ({
  kind: 'owner',
  id: owner,
  owner_id: owner,
  by: 'name',
});

/** Promoters and agents whose name is the text, or whose agent's id begins with it. */
const byName = async (deps: Deps, call: DeskCall, { text, owner_id }: Input): Promise<Found[]> => {
  const wanted = foldedText(text);
  const wantedOwner = text.toLowerCase();
  const exact = await deps.readModels.get<OwnerRow>('owners', ALL_OWNERS, wantedOwner);
  const found: Found[] = exact ? [ownerFound(exact.owner)] : [];
  let owners = 0;
  for await (const spaces of ownerSpaces(deps, call)) {
    for (const owner of spaces) {
      if (owner_id !== undefined && owner !== owner_id) continue;
      const isBegun = text.length >= BEGINNING_OF_ID && owner.startsWith(wantedOwner);
      if (isBegun && owner !== exact?.owner) found.push(ownerFound(owner));
      const query = { scope: accessScope(owner, 'agent'), limit: ROWS_MAX };
      for (const { row } of await deps.readModels.list<AgentRow>('access', query)) {
        const isNamed = wanted !== '' && foldedText(row.name) === wanted;
        const isId = ID.test(text) && row.agent_id.startsWith(text);
        if (!isNamed && !isId) continue;
        const { agent_id: id, name } = row;
        found.push({ kind: 'agent', id, owner_id: owner, name, by: isNamed ? 'name' : 'id' });
      }
    }
    owners += spaces.length;
    if (owners >= OWNERS_MAX) break;
  }
  return found;
};

/** The title and the companies of a record; nothing of a person who refuses contact. */
const textsOf = async (deps: Deps, { owner, record }: NamedRow) => {
  if (record.startsWith('led_')) {
    const lead = await deps.readModels.get<LeadState>('leads', owner, record);
    return { companies: [lead?.company.name] };
  }
  const state = await deps.readModels.get<HandoffState>('handoffs', owner, record);
  if (!state) return { companies: [] };
  const contact = await contactOf(deps, state.rfq);
  const isOpen =
    typeof contact === 'object' &&
    (await suppressionInRows(deps)(owner, contact.email)) === undefined;
  return {
    title: state.title,
    companies: [state.buyer.company, isOpen ? contact.company : undefined],
  };
};

/** The newest records whose title or company has the words of the text. */
const byWords = async (deps: Deps, call: DeskCall, text: string): Promise<Found[]> => {
  const wanted = foldedText(text);
  if (wanted === '' || isBound(call) || !call.caller.roles.has('staff')) return [];
  const query = { scope: ALL_RECORDS, limit: NEWEST_MAX };
  const rows = await deps.readModels.list<NamedRow>('named-records', query);
  const found = rows.map(async ({ row }) => {
    const { title, companies } = await textsOf(deps, row);
    const company = companies.find((one) => foldedText(one).includes(wanted));
    if (company !== undefined) return [recordFound(row, 'company', company)];
    return foldedText(title).includes(wanted) ? [recordFound(row, 'title', title)] : [];
  });
  return (await Promise.all(found)).flat();
};

const bySku = ({ catalog }: Deps, text: string): Found[] =>
  [...catalog.bySku(catalog.startingWith('sku', text, ROWS_MAX)).values()].map(
    ({ product_id: id, title, sku }) => ({
      kind: 'product',
      id,
      name: `${sku} ${title}`,
      by: 'sku',
    }),
  );

/** Records of a mailbox, for those who keep the data of people. */
const byMailbox = async (deps: Deps, call: DeskCall, text: string): Promise<Found[]> => {
  if (!call.caller.roles.has('privacy') || !text.includes('@')) return [];
  const records = await findRecords(deps, text, (owner) => mayActFor(call, owner));
  return records
    .filter(({ id }) => /^(?:hnd|led)_/.test(id))
    .map(({ id, owner_id }) => recordFound({ owner: owner_id, record: id, sort: 0 }, 'mailbox'));
};

export const searchDesk: DeskHandler<'searchDesk'> = async (deps, input, call) => {
  const { text, kind, owner_id, limit } = input;
  const reference = readReference(text);
  const isNamed = reference !== undefined && 'data' in reference;
  const named = isNamed
    ? (await namedIn(deps, listBy({ reference: reference.data }))).map((row) =>
        recordFound(row, 'reference'),
      )
    : [];
  const found =
    named.length > 0
      ? named
      : [
          ...(await byId(deps, text)),
          ...(await byName(deps, call, input)),
          ...bySku(deps, text),
          ...(await byWords(deps, call, text)),
          ...(await byMailbox(deps, call, text)),
        ];
  const data = found.filter(
    (one) =>
      (kind === undefined || one.kind === kind) &&
      (owner_id === undefined || one.owner_id === owner_id) &&
      (one.owner_id === undefined || mayActFor(call, one.owner_id)),
  );
  return done({
    data: data.slice(0, limit),
    ...(reference !== undefined && 'mistyped' in reference && { mistyped: true }),
    as_of: renderAsOf(deps.following.asOf()),
  });
};
