/** What a person does with all records of their address, with the link of a message to it. */
import { mailbox } from '#contracts/mailbox.ts';
import type { EventData } from '#contracts/registries/events.ts';
import { DESK } from '#src/calls/audit.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { HolderHandler } from '#src/calls/desk-handler.ts';
import { type Limiter, refuseLink } from '#src/calls/limits.ts';
import { NO_STREAM } from '#src/ports/event-log.ts';
import { mailboxRequests } from '#src/sealing/mailbox.decider.ts';
import {
  NOT_REFUSED,
  recordRequest,
  renderSuppression,
  findMailbox,
} from '#src/sealing/suppression.ts';
import { chosenMatches } from '#src/shared/mailbox.ts';
import { openOne } from '#src/sealing/sealed-texts.ts';
import { queueMail } from '#src/sending/mail.ts';
import type { HolderCall } from '#src/shared/call.ts';
import { done, isRefusal, type Outcome, type Refusal, refuse } from '#src/shared/outcome.ts';
import { HOUR_MS } from '#src/shared/time.ts';
import { attribute } from '#src/writing/attribution.ts';
import { traceOf } from '#src/writing/decide-and-append.ts';
import { stateOf, nameOf } from '#src/writing/streams.ts';
import {
  findRecords,
  type FoundRecord,
  erasedFor,
  eraseRecords,
  exportRecord,
} from './find-records.ts';

const LINK_MS = HOUR_MS;
const TOKEN_CHARS = 40;
const TOKEN = /^[0-9A-Za-z]{40}$/;

/** What the person of an address sees. */
export type OwnData = {
  email: string;
  /** When the link ends, in epoch milliseconds. */
  until: number;
  records: (FoundRecord & { isErased: boolean })[];
  contact: ReturnType<typeof renderSuppression>;
};

/** How many records were erased as a whole, and of how many lists only an unconfirmed request. */
export type Erasure = { records: number; requests: number };

/** A copy of an address's records. */
export type OwnDataCopy = Pick<OwnData, 'email' | 'contact'> & { data: { id: string }[] };

type Link = Pick<OwnData, 'email' | 'until'> & { sealedFor: string };

const NO_LINK = refuse(
  'resource_not_found',
  'This link is over, or not complete. A link works for an hour: ask for another one.',
);

export const privacyPath = (token: string): string => `/privacy/${token}`;

const linkStream = (token: string): string => `${DESK}-privacy_${nameOf('privacy-link', token)}`;

/**
 * Makes a handler that mails a link, within a limit for each network. It looks nothing up, so that neither the answer
 * nor its delay depends on the address.
 */
export const linkRequester =
  (limit: Pick<Limiter, 'take'>): HolderHandler<'requestPrivacyLink', { sent: true }> =>
  async (deps, input, call) => {
    const entered = mailbox.safeParse(input.mailbox);
    if (!entered.success)
      return refuse('validation_failed', 'The address is not valid.', {
        errors: [
          {
            pointer: '/mailbox',
            code: 'invalid',
            detail: 'must be an e-mail address, like ada@example.com',
          },
        ],
      });
    const refusal = refuseLink(limit, input.address);
    if (refusal) return refusal;
    const to = entered.data;
    const token = deps.ids.base62(TOKEN_CHARS);
    const until = call.at + LINK_MS;
    const sealedFor = `plk_${nameOf('privacy-link', token)}`;
    const sealed = await deps.vault.seal(sealedFor, to);
    if (sealed === null) throw new Error(`${sealedFor} is new and was erased`);
    const owned = { ...call, ownerId: DESK };
    const data: EventData<'PrivacyLinkRequested'> = {
      sealed_for: sealedFor,
      sealed_address: sealed,
      expires_at: until,
    };
    const events = attribute(owned, [{ type: 'PrivacyLinkRequested', data }], deps.ids);
    const facts = { path: privacyPath(token), until };
    const letter = await queueMail(deps, owned, { kind: 'privacy_link', sealedFor, to, facts });
    const link = { stream: linkStream(token), expected: NO_STREAM, events };
    const appended = await deps.log.appendAll([link, ...letter]);
    if (appended.outcome === 'conflict') throw new Error('a privacy link was stored twice');
    return done({ sent: true as const }, { position: appended.position });
  };

const findLink = async (
  { log, vault }: Pick<Deps, 'log' | 'vault'>,
  { caller: { token }, at }: HolderCall,
): Promise<Link | Refusal> => {
  const [event] = TOKEN.test(token) ? await log.readStream(linkStream(token)) : [];
  if (!event) return NO_LINK;
  const link = event.data as EventData<'PrivacyLinkRequested'>;
  if (at >= link.expires_at) return NO_LINK;
  const email = await openOne(vault, link.sealed_address);
  return typeof email === 'string'
    ? { email, until: link.expires_at, sealedFor: link.sealed_for }
    : NO_LINK;
};

const show = async (deps: Deps, { email, until }: Link): Promise<OwnData> => {
  const found = await findRecords(deps, email, () => true);
  const records = await Promise.all(
    found.map(async (record) => ({
      ...record,
      isErased: (await deps.vault.knows(record.id)) === 'destroyed',
    })),
  );
  const { stream } = await findMailbox(deps, email);
  const state = await stateOf(deps, { stream, decider: mailboxRequests });
  return {
    email,
    until,
    records,
    contact: state ? renderSuppression(state.suppression) : NOT_REFUSED,
  };
};

/** Runs an act of a link's holder. */
const actWith = async <Value>(
  deps: Deps,
  call: HolderCall,
  act: (link: Link) => Promise<Outcome<Value>>,
): Promise<Outcome<Value>> => {
  const link = await findLink(deps, call);
  return isRefusal(link) ? link : act(link);
};

export const readOwnData: HolderHandler<'readOwnData', OwnData> = (deps, _input, call) =>
  actWith(deps, call, async (link) => done(await show(deps, link)));

/** The exact matches, and the folded ones that the person calls their own; ids of other records have no effect. */
const ownRecords = async (deps: Deps, { email }: Link, folded: readonly string[]) =>
  chosenMatches(await findRecords(deps, email, () => true), folded);

export const exportOwnData: HolderHandler<'exportOwnData', OwnDataCopy> = (
  deps,
  { folded },
  call,
) =>
  actWith(deps, call, async (link) => {
    const written = await recordRequest(deps, call, { email: link.email, action: 'export' });
    if (!written.ok) return written;
    const records = await ownRecords(deps, link, folded);
    const data = await Promise.all(
      records.map((record) => exportRecord(deps, call, { ...record, email: link.email })),
    );
    const contact = renderSuppression(written.state.suppression);
    return done({ email: link.email, data, contact }, traceOf(written));
  });

const changeContact =
  (action: 'withdraw' | 'lift', changed: 'suppress' | 'lift') =>
  (deps: Deps, scope: { owner_id?: string | undefined }, call: HolderCall) =>
    actWith(deps, call, async (link) => {
      const request = { email: link.email, action, [changed]: scope };
      const written = await recordRequest(deps, call, request);
      return written.ok ? done(await show(deps, link), traceOf(written)) : written;
    });

export const refuseOwnContact: HolderHandler<'refuseOwnContact', OwnData> = changeContact(
  'withdraw',
  'suppress',
);

export const allowOwnContact: HolderHandler<'allowOwnContact', OwnData> = changeContact(
  'lift',
  'lift',
);

/** Ends the link last, so that the person can repeat an erasure that was interrupted. */
export const eraseOwnData: HolderHandler<'eraseOwnData', Erasure> = (
  deps,
  { folded, allow_contact },
  call,
) =>
  actWith(deps, call, async (link) => {
    const chosen = await ownRecords(deps, link, folded);
    const records = await erasedFor(deps, link.email, chosen);
    const written = await recordRequest(deps, call, {
      email: link.email,
      action: 'erase',
      records,
      ...(!allow_contact && { suppress: {} }),
    });
    if (!written.ok) return written;
    const refusal = await eraseRecords(deps, call, records);
    if (refusal) return refusal;
    await deps.vault.destroy(link.sealedFor);
    const requests = records.filter(({ contact_subject }) => contact_subject !== undefined).length;
    return done({ records: records.length - requests, requests }, traceOf(written));
  });
