/** The list behind a review link: how its holder reads, opens and changes it. */
import { DIRECT_OWNER } from '#contracts/fields.ts';
import { declineReason } from '#contracts/handoffs/operations.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { InputFault } from '#contracts/problems.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { HolderHandler } from '#src/calls/desk-handler.ts';
import { priceLine, quantitiesIn, totalsOf, lineIdAt } from '#src/catalog/products.ts';
import type { Catalog, CatalogProduct, ProductHits, ProductSearch } from '#src/ports/catalog.ts';
import type { ReviewTokenRow } from '#src/ports/rows.ts';
import { promoterName } from '#src/owners/promoter-name.ts';
import { openOne } from '#src/sealing/sealed-texts.ts';
import { blockMailbox } from '#src/sending/mail.ts';
import type { HolderCall, Call } from '#src/shared/call.ts';
import { done, refuse, type Outcome, type Refusal } from '#src/shared/outcome.ts';
import {
  confirmationTokenOf,
  quotationTokenOf,
  reviewTokenHash,
  reviewTokenOf,
} from '#src/shared/signing.ts';
import {
  changeStream,
  decideAndAppend,
  type Issued,
  issue,
  type RejectedBy,
  traceOf,
  type Written,
} from '#src/writing/decide-and-append.ts';
import { stateOf, streamOf } from '#src/writing/streams.ts';
import {
  type HandoffState,
  review as reviewedHandoff,
  type ReviewState,
  isOpen,
  type HandoffCommand,
  type HandoffRejection,
  review,
  type HandoffLine,
} from './handoff.decider.ts';
import type { GoodsRejection } from './fulfillment.decider.ts';
import { readableHandoff, forgetDropped } from './render-handoff.ts';
import { isUnconfirmed } from './rfq.decider.ts';

/** The quantities that a buyer entered, as text, by line id. */
type EnteredQuantities = ReadonlyMap<string, string>;

export type EnteredList = Pick<HandoffState, 'lines' | 'totals'>;

const QUANTITY_MAX = 100_000_000;

/** Reads an entered quantity, 0 to remove the line, or reports its fault. */
const readQuantity = (entered: string): number | Omit<InputFault, 'pointer'> => {
  if (!/^\d+$/.test(entered))
    return {
      code: 'not_a_quantity',
      detail: 'must be a whole number in digits, 0 to remove the line from the list',
    };
  const quantity = Number(entered);
  if (quantity <= QUANTITY_MAX) return quantity;
  return { code: 'too_large', detail: `must be at most ${QUANTITY_MAX.toLocaleString('en')}` };
};

const listFault = (code: string, detail: string) => ({
  faults: [{ pointer: '/quantities', code, detail }],
});

/**
 * Replaces the quantities of a list by the entered ones, and adds lines. All lines of the products whose quantity changes
 * get the present prices and warnings.
 */
export const withQuantities = (
  catalog: Catalog,
  state: EnteredList,
  { entered, added = [] }: { entered: EnteredQuantities; added?: EnteredList['lines'] },
): EnteredList | { faults: InputFault[] } => {
  const products = catalog.byId([...state.lines, ...added].map(({ product_id }) => product_id));
  const faults: InputFault[] = [];
  const changedProducts = new Set(added.map(({ product_id }) => product_id));
  const quantified = state.lines.flatMap((line) => {
    const quantity = readQuantity(entered.get(line.line_id)?.trim() ?? String(line.quantity));
    if (typeof quantity === 'object') {
      faults.push({ pointer: `/quantity.${line.line_id}`, ...quantity });
      return [line];
    }
    if (quantity === line.quantity) return [line];
    if (quantity > line.quantity && !products.has(line.product_id)) {
      const max = line.quantity.toLocaleString('en');
      const detail = `must be at most ${max}, because the product is no longer offered`;
      faults.push({ pointer: `/quantity.${line.line_id}`, code: 'withdrawn', detail });
      return [line];
    }
    changedProducts.add(line.product_id);
    return quantity === 0 ? [] : [{ ...line, quantity }];
  });
  if (faults.length > 0) return { faults };
  const requested = [...quantified, ...added];
  const inList = quantitiesIn(requested);
  const lines = requested.map((line) => {
    const product = changedProducts.has(line.product_id) && products.get(line.product_id);
    return product ? priceLine(product, line, inList) : line;
  });
  if (lines.length === 0) return listFault('empty', 'at least one line must stay');
  const totals = totalsOf(lines);
  return totals.some(({ amount }) => !Number.isSafeInteger(amount))
    ? listFault('too_large', 'the total exceeds 2^53 - 1')
    : { lines, totals };
};

const isChanged = ({ lines }: Pick<EnteredList, 'lines'>, entered: EnteredQuantities): boolean =>
  lines.some(({ line_id, quantity }) => {
    const text = entered.get(line_id)?.trim();
    return text !== undefined && text !== String(quantity);
  });

/** Whether a form requests other quantities than those that were sent. A double click does not. */
export const isOtherRequest = (
  sent: Pick<EnteredList, 'lines'>,
  entered: EnteredQuantities,
): boolean => {
  const quantities = new Map(sent.lines.map(({ line_id, quantity }) => [line_id, quantity]));
  return [...entered].some(([id, text]) => readQuantity(text.trim()) !== (quantities.get(id) ?? 0));
};

export type Review = {
  handoffId: string;
  ownerId: string;
  /** The agent's name, for "prepared by". */
  preparedBy: string;
  /** The promoter's name. */
  promoter: string;
  /** Whether a promoter is credited with the list. */
  isCredited: boolean;
  state: ReviewState;
  open: boolean;
  expired: boolean;
  /** Lines whose product has another price or stock now than when the list was priced, by line id. */
  changed: Map<string, LineNow>;
  /** The published products of the lines and removed lines of an open list, by id; of a closed list none. */
  products: ReadonlyMap<string, CatalogProduct>;
  /** The list with the quantities that the buyer entered, where those can be priced. */
  entered: EnteredList;
  /** What the entered list comes to at the present prices of its products. */
  totalsNow: EnteredList['totals'];
  /** The first products that match the words of the buyer's search, and how many do; undefined without words. */
  search: ({ words: string } & Pick<ProductHits, 'products' | 'total'>) | undefined;
  /** Whether an entered quantity differs from the list. */
  isChanged: boolean;
  /** Until when a sent RFQ waits for the confirmation of its mailbox, in epoch milliseconds. */
  awaitedUntil: number | undefined;
};

/** The present price and stock of a line's product. */
type LineNow =
  | { unit_price: number; currency: string; warnings: string[] }
  | { withdrawn: { reason: string | undefined } };

/** A search for a product to add. */
const SEARCH: ProductSearch = { sort: 'relevance', limit: 10, offset: 0, facets: [] };

const TOKEN = /^[0-9a-f]{40}$/;
export const NO_LIST = refuse(
  'resource_not_found',
  'There is no such list. Check that the link is complete.',
);

/** The token of a row now: that of an earlier generation of the secrets no longer works, because others may know it. */
const tokenOf = (
  secrets: Deps['secrets'],
  { handoff_id: handoffId, confirms, quotes }: ReviewTokenRow,
): string => {
  if (confirms !== undefined) return confirmationTokenOf(secrets, { handoffId, number: confirms });
  if (quotes !== undefined) return quotationTokenOf(secrets, { handoffId, number: quotes });
  return reviewTokenOf(secrets, handoffId);
};

const rowOf = async (
  { readModels, secrets }: Pick<Deps, 'readModels' | 'secrets'>,
  token: string,
): Promise<ReviewTokenRow | undefined> => {
  if (!TOKEN.test(token)) return undefined;
  const row = await readModels.get<ReviewTokenRow>('review-tokens', reviewTokenHash(token), '');
  return row && token === tokenOf(secrets, row) ? row : undefined;
};

/** Finds the handoff that the token of a review link opens, and its owner. */
export const findHandoff = async (
  deps: Pick<Deps, 'readModels' | 'secrets'>,
  token: string,
): Promise<ReviewTokenRow | undefined> => {
  const row = await rowOf(deps, token);
  return (row?.confirms ?? row?.quotes) === undefined ? row : undefined;
};

export type MailedLink = { owner: string; handoff_id: string; number: number };

/** Finds the handoff of a link by mail, and the number of the sending that it confirms, or of the quotation that it shows. */
export const findMailedLink = async (
  deps: Pick<Deps, 'readModels' | 'secrets'>,
  token: string,
  of: 'confirms' | 'quotes',
): Promise<MailedLink | undefined> => {
  const row = await rowOf(deps, token);
  const number = row?.[of];
  return row && number !== undefined
    ? { owner: row.owner, handoff_id: row.handoff_id, number }
    : undefined;
};

/** Compares a list with the catalog: the lines that differ, by line id. */
export const differencesFromCatalog = (
  catalog: Deps['catalog'],
  lines: HandoffState['lines'],
): Review['changed'] => {
  const products = catalog.byId(lines.map(({ product_id }) => product_id));
  const unpublished = lines.flatMap(({ product_id }) =>
    products.has(product_id) ? [] : [product_id],
  );
  const withdrawn = catalog.withdrawn(unpublished);
  const inList = quantitiesIn(lines);
  const changed: Review['changed'] = new Map();
  for (const line of lines) {
    const product = products.get(line.product_id);
    if (!product) {
      changed.set(line.line_id, { withdrawn: { reason: withdrawn.get(line.product_id)?.reason } });
      continue;
    }
    const { unit_price, currency, warnings = [] } = priceLine(product, line, inList);
    const isSame =
      unit_price === line.unit_price &&
      currency === line.currency &&
      warnings.join() === (line.warnings ?? []).join();
    if (!isSame) changed.set(line.line_id, { unit_price, currency, warnings });
  }
  return changed;
};

/** A line with the present price of its product; one that is no longer offered keeps its price. */
const pricedNow = (line: HandoffLine, products: Review['products']): HandoffLine => {
  const product = products.get(line.product_id);
  return product ? { ...line, ...priceLine(product, line, new Map()) } : line;
};

/** Makes the buyer's view of a list, priced with the entered quantities. */
export const makeReview = async (
  deps: Deps,
  list: { ownerId: string; state: ReviewState; quantities?: EnteredQuantities; words?: string },
): Promise<Review> => {
  const { ownerId, state: stored, quantities = new Map(), words = '' } = list;
  const { catalog, credentials, clock } = deps;
  const open = isOpen(stored, clock.now());
  const isUndecided = stored.status === 'awaiting_buyer' || stored.status === 'in_review';
  const state = await readableHandoff(deps, stored);
  const priced = open ? withQuantities(catalog, state, { entered: quantities }) : state;
  const offered = [...stored.lines, ...(stored.removed ?? [])];
  const entered = 'faults' in priced ? state : priced;
  const products = open ? catalog.byId(offered.map(({ product_id }) => product_id)) : new Map();
  return {
    handoffId: stored.handoff_id,
    ownerId,
    promoter: await promoterName(deps, ownerId),
    isCredited: ownerId !== DIRECT_OWNER,
    preparedBy: credentials.agent(stored.agent_id)?.name ?? stored.agent_id,
    state,
    open,
    expired: isUndecided && !open,
    changed: differencesFromCatalog(catalog, stored.lines),
    products,
    entered,
    totalsNow: totalsOf(entered.lines.map((line) => pricedNow(line, products))),
    search:
      open && words !== '' ? { words, ...catalog.search({ ...SEARCH, q: words }) } : undefined,
    isChanged: isChanged(state, quantities),
    awaitedUntil: isUnconfirmed(stored.rfq, clock.now())
      ? stored.rfq?.confirmation?.until
      : undefined,
  };
};

/** Shows the list of a review link. It changes nothing, because mail scanners and chat previews also open links. */
export const reviewHandoff: HolderHandler<'reviewHandoff', Review> = async (
  deps,
  input,
  { caller },
) => {
  const row = await findHandoff(deps, caller.token);
  if (!row) return NO_LIST;
  const { owner: ownerId, handoff_id } = row;
  const stream = streamOf(ownerId, 'handoff', handoff_id);
  const state = await stateOf(deps, { stream, decider: reviewedHandoff });
  return state ? done(await makeReview(deps, { ownerId, state, ...input })) : NO_LIST;
};

type Awaitable<T> = T | Promise<T>;
type CommandFor = (state: ReviewState, call: Call) => Awaitable<Issued<HandoffCommand> | Refusal>;

/** A list as the holder of its review link acts on it. */
type List = { stream: string; owned: Call };

const findList = async (deps: Deps, call: HolderCall): Promise<List | undefined> => {
  const row = await findHandoff(deps, call.caller.token);
  if (!row) return undefined;
  const { owner: ownerId, handoff_id } = row;
  return { stream: streamOf(ownerId, 'handoff', handoff_id), owned: { ...call, ownerId } };
};

type Client = 'browser' | 'program';

const opening = (at: number, client: Client) => ({
  type: 'OpenHandoff' as const,
  at,
  byProgram: client === 'program',
});

/** Records that the buyer looks at the list. An open list stays as it is, and a closed one is refused. */
export const openList = async (
  deps: Deps,
  call: HolderCall,
  client: Client,
): Promise<Outcome<Review>> => {
  const list = await findList(deps, call);
  if (!list) return NO_LIST;
  const { stream, owned } = list;
  const written = await decideAndAppend(deps, owned, {
    stream,
    decider: review,
    command: (state) => (state ? issue(opening(owned.at, client)) : NO_LIST),
  });
  return answer(deps, list, written);
};

/**
 * Runs one command of the buyer. Opens a list that nobody has opened first, by an append of its own. A repeated command
 * leaves the list as it is.
 */
export const actOnList = async (
  deps: Deps,
  call: HolderCall,
  commandFor: CommandFor,
  client: Client = 'browser',
): Promise<Outcome<Review>> => {
  const list = await findList(deps, call);
  if (!list) return NO_LIST;
  const { stream, owned } = list;
  const written = await changeStream(deps, owned, {
    stream,
    decider: review,
    async work(change) {
      let { state } = change;
      if (!state) return NO_LIST;
      if (isUnopened(state, owned.at)) {
        const opened = await change.execute(issue(opening(owned.at, client)));
        if (opened === 'conflict' || !opened.ok) return opened;
        state = opened.state;
      }
      return change.execute(await commandFor(state, owned));
    },
  });
  return answer(deps, list, written);
};

const answer = async (
  deps: Deps,
  { owned: { ownerId } }: List,
  written: Written<ReviewState> | RejectedBy<HandoffRejection> | Refusal,
): Promise<Outcome<Review>> => {
  if (!written.ok) return 'rejected' in written ? conflictOf(written.rejected) : written;
  await forgetDropped(deps, written);
  return done(await makeReview(deps, { ownerId, state: written.state }), traceOf(written));
};

const isUnopened = (state: HandoffState, at: number): boolean =>
  state.status === 'awaiting_buyer' && isOpen(state, at);

/** With the rejection by name: the page has its own words for it. */
export const conflictOf = (rejected: HandoffRejection): Refusal => {
  const why = (WHY as Partial<Record<HandoffRejection, string>>)[rejected];
  return why === undefined ? NO_LIST : refuse('state_conflict', why, { extra: { rejected } });
};

/** `handoff_unknown`, and the rejections of commands that only agents or staff give, have no text of their own. */
const WHY: Record<
  Exclude<
    HandoffRejection,
    | 'handoff_unknown'
    | 'handoff_seen'
    | GoodsRejection
    | 'values_required'
    | 'quotation_not_named'
    | 'question_answered'
    | 'proposal_unknown'
  >,
  string
> = {
  handoff_exists: 'The list exists.',
  handoff_closed: 'This list is closed; nothing was changed.',
  handoff_expired: 'This list has expired; nothing was changed.',
  list_changed: 'The list was changed in the meantime. Look at it again before you send it.',
  too_many_revisions:
    'The list was changed as often as it can be. Send it, decline it, or ask for a new one.',
  totals_changed:
    'The total of the list is not the one that was shown. Check it before you send it.',
  link_replaced: 'The list was sent again, and a newer message has the link that works.',
  confirmation_over: 'The request was not confirmed in time, or the list was closed.',
  rfq_move_not_allowed: 'The request is no longer as the page showed it; nothing was changed.',
  quotation_replaced: 'The quotation was replaced; a later letter has the one that is valid now.',
  quote_over: 'The quotation has expired; nothing was changed.',
  too_many_questions: 'Many questions wait for an answer, or were asked; nothing was sent.',
};

/** The handoff was erased while the buyer filled in the form. */
export const ERASED_LIST = refuse('state_conflict', WHY.handoff_closed);

/** What the buyer wants back on the list, by the id of the removed line, or new on it, by the id of a product. */
type Addition = { restore?: string | undefined; add?: string | undefined };

const fault = (pointer: string, code: string, detail: string) => ({
  faults: [{ pointer, code, detail }],
});

const smallestOf = ({ moq, increment }: CatalogProduct): number =>
  Math.ceil(moq / increment) * increment;

/** A line id that the list never had: the notes of a list are stored by line id. */
const nextLineId = (lines: readonly HandoffLine[]): string =>
  lineIdAt(Math.max(...lines.map(({ line_id }) => Number(line_id))));

/**
 * Prices the line that an addition puts on the list: a removed line with its last quantity, also if the addition names
 * only its product; otherwise a new line with the smallest quantity. No line if nothing is added, or the line is back
 * already.
 */
export const lineToAdd = (
  catalog: Catalog,
  { lines, removed = [], made_by_buyer }: ReviewState,
  { restore, add }: Addition,
): { lines: HandoffLine[] } | { faults: InputFault[] } => {
  const isListed = lines.some(({ line_id }) => line_id === restore);
  if (isListed || (restore === undefined && add === undefined)) return { lines: [] };
  const same = lines.find(({ product_id }) => product_id === add);
  if (same)
    return fault(
      `/quantity.${same.line_id}`,
      'on_list',
      'can be changed here, because the product is on the list already',
    );
  const before = removed.findLast(({ line_id, product_id }) =>
    restore === undefined ? product_id === add : line_id === restore,
  );
  const productId = before?.product_id ?? add ?? '';
  const product = catalog.byId([productId]).get(productId);
  if (!product)
    return fault('/q', 'not_published', 'the product is not offered, so it cannot be added');
  const max = made_by_buyer ? LIMITS.LIST_LINES_MAX : LIMITS.HANDOFF_LINES_MAX;
  if (lines.length >= max)
    return fault(
      '/q',
      'too_many',
      `a list has at most ${max.toLocaleString('en')} lines: take one off before you add another`,
    );
  const { line_id, quantity } = before ?? {
    line_id: nextLineId([...lines, ...removed]),
    quantity: smallestOf(product),
  };
  return { lines: [priceLine(product, { line_id, quantity }, new Map())] };
};

const REVISION_LIMITS = {
  revisions: LIMITS.HANDOFF_REVISIONS_MAX,
  lines: LIMITS.HANDOFF_REVISED_LINES_MAX,
};

export const openHandoff: HolderHandler<'openHandoff', Review> = (deps, { client }, call) =>
  openList(deps, call, client);

export const reviseList: HolderHandler<'reviseList', Review> = (deps, input, call) =>
  actOnList(deps, call, (state, { at }) => {
    const { list_revision: listRevision, quantities: entered, ...addition } = input;
    const addable = lineToAdd(deps.catalog, state, addition);
    const list =
      'faults' in addable
        ? addable
        : withQuantities(deps.catalog, state, { entered, added: addable.lines });
    return 'faults' in list
      ? refuse('validation_failed', 'The list cannot be changed like this.', {
          errors: list.faults,
        })
      : issue({ type: 'ReviseList', at, listRevision, limits: REVISION_LIMITS, ...list });
  });

const INVALID_REASON = refuse('validation_failed', 'The reason is not valid.', {
  errors: [{ pointer: '/reason', code: 'invalid', detail: 'one line of at most 500 characters' }],
});

export const declineHandoff: HolderHandler<'declineHandoff', Review> = (
  deps,
  { reason: entered },
  call,
) =>
  actOnList(deps, call, async (state, { at }) => {
    const reason = entered.trim();
    if (reason !== '' && !declineReason.safeParse(reason).success) return INVALID_REASON;
    if (reason === '' || !isOpen(state, at)) return issue({ type: 'DeclineHandoff', at });
    const sealedReason = await deps.vault.seal(state.handoff_id, reason);
    return sealedReason === null
      ? ERASED_LIST
      : issue({ type: 'DeclineHandoff', at, sealedReason });
  });

/**
 * Closes a list that was mailed to somebody who did not ask for it, and blocks such messages to the mailbox. The block comes
 * first: a list that is closed already is not refused, so that a failure of the block can be repeated.
 */
export const disownList: HolderHandler<'disownList', Review> = (deps, _input, call) =>
  actOnList(deps, call, async ({ deliver, buyer: { email } }, owned) => {
    if (!deliver) return NO_LIST;
    const to = email === undefined ? null : await openOne(deps.vault, email);
    const refusal = typeof to === 'string' ? await blockMailbox(deps, owned, to) : undefined;
    return refusal ?? issue({ type: 'DeclineHandoff', at: owned.at });
  });
