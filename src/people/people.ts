/** People who sign in: found by their mailbox, invited, listed, changed and ended at the desk. */
import type { PersonRecord } from '#contracts/people/records.ts';
import { DESK } from '#src/calls/audit.ts';
import { type DeskHandler, isBound, mayActFor, NO_OWNER } from '#src/calls/desk-handler.ts';
import type { Credentials } from '#src/calls/authenticate.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { idAtDesk } from '#src/access/independence.ts';
import { MAILED_LINK_MS } from '#src/owners/profile.ts';
import {
  accessScope,
  foldedWords,
  haveBeginnings,
  listBy,
  listOfWord,
  type PersonRow,
  type SessionRow,
} from '#src/ports/rows.ts';
import {
  type ListRange,
  listing,
  pageOfScan,
  ROWS_READ_MAX,
  scanLists,
} from '#src/reading/lists.ts';
import { openOne, shownText } from '#src/sealing/sealed-texts.ts';
import { deriveMailboxKeys, generationsOf } from '#src/sealing/suppression.ts';
import { linkToken, queueMail } from '#src/sending/mail.ts';
import type { Call, DeskCall } from '#src/shared/call.ts';
import { refuseHouseNames } from '#src/shared/house-names.ts';
import { done, isRefusal, refuse, refuseField, type Refusal } from '#src/shared/outcome.ts';
import { isOneName, personIdOfName } from '#src/shared/person.ts';
import { present } from '#src/shared/json.ts';
import { iso, renderAsOf } from '#src/shared/time.ts';
import {
  changeRecord,
  decideAndAppend,
  issue,
  type RejectedBy,
  traceOf,
} from '#src/writing/decide-and-append.ts';
import type { EventWriter } from '#src/writing/idempotency.ts';
import { refuseRejected } from '#src/writing/rejections.ts';
import { nameOf, stateOf, streamOfPerson } from '#src/writing/streams.ts';
import {
  person,
  type PersonCommand,
  type PersonRejection,
  type PersonState,
} from './person.decider.ts';

const NO_PERSON = refuse('resource_not_found', 'There is no such person.');
const PEOPLE_AT_ONCE = 100;
const SUBJECT_PREFIX = 'psn_';
const PERSON_CHARS = 24;
const SUBJECT_CHARS = 8;

/** Every mailbox is one person at most, and a retry derives the same id. */
const personIdOf = (mailboxKey: string): string => `per_${nameOf('person', mailboxKey)}`;

export const readPersonState = (
  deps: Pick<Deps, 'log'>,
  personId: string,
): Promise<PersonState | undefined> =>
  stateOf(deps, { stream: streamOfPerson(personId), decider: person });

/**
 * Finds the person of a mailbox, however it is spelled, and the id that a new one would have. Reads one stream for each
 * generation of the key that hashes mailboxes.
 */
export const findPersonOf = async (
  deps: Pick<Deps, 'log' | 'secrets'>,
  mailbox: string,
): Promise<{ personId: string; state: PersonState | undefined }> => {
  const ids = generationsOf(deps.secrets).map((generation) =>
    personIdOf(deriveMailboxKeys(deps.secrets, mailbox, generation).mailbox),
  );
  const states = await Promise.all(ids.map((id) => readPersonState(deps, id)));
  const known = states.findIndex((state) => state !== undefined);
  return { personId: ids[Math.max(known, 0)] ?? '', state: states[known] };
};

/** Whether a record in which a person is found is that of somebody who signs in; its id is the subject of its seal. */
export const isPersonSubject = (id: string): boolean => id.startsWith(SUBJECT_PREFIX);

const personOfSubject = (subject: string): string =>
  `per_${subject.slice(SUBJECT_PREFIX.length, SUBJECT_PREFIX.length + PERSON_CHARS)}`;

/** Seals a mailbox for the record of its person. `request` makes the subject new: one that was erased gets no new key. */
export const sealMailbox = async (
  { vault, secrets }: Pick<Deps, 'vault' | 'secrets'>,
  { personId, mailbox, request }: { personId: string; mailbox: string; request: string },
) => {
  const made = nameOf('person-mailbox', personId, request).slice(0, SUBJECT_CHARS);
  const sealed_for = `${SUBJECT_PREFIX}${personId.slice('per_'.length)}${made}`;
  const sealed_mailbox = await vault.seal(sealed_for, mailbox);
  if (sealed_mailbox === null) throw new Error(`${sealed_for} is new and was erased`);
  return { sealed_for, sealed_mailbox, mailbox_keys: deriveMailboxKeys(secrets, mailbox) };
};

/** Whether a caller sees a person, and may end one: people of promoters only those of the same promoters. */
const sees = (call: DeskCall, { owners }: Pick<PersonRow, 'owners'>): boolean =>
  !isBound(call) || (owners.length > 0 && owners.every((owner) => mayActFor(call, owner)));

/** Refuses roles that do not go together, and those that the caller may not give. */
const refuseRights = (
  call: DeskCall,
  { roles, owners }: { roles: readonly string[]; owners: readonly string[] },
): Refusal | undefined => {
  const isOwner = roles.includes('owner');
  if (isOwner && roles.length > 1)
    return refuseField('/roles', 'not_together', 'must be owner alone, or any of the others');
  if (isOwner && owners.length === 0)
    return refuseField('/owners', 'required', 'name the promoters for whom the owner acts');
  if (!isOwner && owners.length > 0)
    return refuseField('/owners', 'not_together', 'must be empty without the role owner');
  if (isBound(call) && !(isOwner && owners.every((owner) => mayActFor(call, owner))))
    return refuse('role_missing', 'An owner invites owners of the same promoters only.');
  return undefined;
};

/** Refuses a name that looks like that of another person who can sign in. Reads all people. */
export const refuseName = async (
  { readModels }: Pick<Deps, 'readModels'>,
  { name, personId }: { name: string; personId: string },
): Promise<Refusal | undefined> => {
  if (personIdOfName(name) === undefined)
    return refuseField('/name', 'letter_missing', 'must have a letter or a digit');
  const query = { scope: accessScope(DESK, 'person'), limit: PEOPLE_AT_ONCE };
  for await (const page of listing<PersonRow>(readModels, 'access', query))
    if (page.some(({ row }) => row.person_id !== personId && isOneName(row.name, name)))
      return refuseField(
        '/name',
        'taken',
        'looks like the name of another person: add what tells them apart, like an initial',
      );
  return undefined;
};

const actorName = (credentials: Credentials, actor: string): string => {
  const id = idAtDesk(actor);
  const named = id && (credentials.person(id) ?? credentials.deskToken(id));
  return named ? named.name : actor;
};

/** The person who invited another one, or the machine, by name; null if nobody did. */
export const inviterOf = (
  { credentials }: Pick<Deps, 'credentials'>,
  { invited_by }: Pick<PersonState, 'invited_by'>,
): string | null => (invited_by === undefined ? null : actorName(credentials, invited_by));

const waysOf = ({ status, passkeys, accounts }: PersonState | PersonRow): PersonRecord['ways'] =>
  status === 'ended'
    ? []
    : [
        'mailed_link',
        ...(passkeys.length > 0 ? (['passkey'] as const) : []),
        ...(accounts.length > 0 ? (['openid'] as const) : []),
      ];

const renderPerson = async (
  deps: Pick<Deps, 'credentials' | 'readModels'>,
  state: PersonState | PersonRow,
): Promise<PersonRecord> => {
  const { person_id, name, status, roles, owners, invitation, ended_reason } = state;
  const newest = { scope: accessScope(person_id, 'session'), limit: 1 };
  const [session] = await deps.readModels.list<SessionRow>('access', newest);
  return {
    id: person_id,
    name,
    status,
    roles: roles as PersonRecord['roles'],
    owners,
    ways: waysOf(state),
    invited_by: inviterOf(deps, state),
    ...present({
      invitation_expires_at: invitation && iso(invitation.expires_at),
      reason: status === 'ended' ? ended_reason : undefined,
    }),
    last_sign_in_at: session ? iso(session.row.started_at) : null,
    created_at: iso(state.created_at),
  };
};

const aboutInvitation = (personId: string, { invitation }: Pick<PersonState, 'invitation'>) => ({
  subject: personId,
  version: invitation?.invitation_id ?? '',
});

/** The token of the link of the person's last invitation. */
export const invitationToken = (
  { secrets }: Pick<Deps, 'secrets'>,
  { person_id, invitation }: Pick<PersonState, 'person_id' | 'invitation'>,
): string => linkToken(secrets, aboutInvitation(person_id, { invitation }));

const INVITATION_CHARS = 22;

const newInvitation = ({ ids }: Pick<Deps, 'ids'>, { at }: DeskCall) => ({
  invitation_id: ids.base62(INVITATION_CHARS),
  expires_at: at + MAILED_LINK_MS,
});

/** Queues the letter with the link of an invitation. */
const mailInvitation = async (
  deps: Deps,
  call: DeskCall,
  {
    to,
    ...about
  }: Pick<PersonState, 'person_id' | 'sealed_for' | 'roles' | 'owners' | 'invitation'> & {
    to: string;
  },
) =>
  queueMail(deps, call, {
    kind: 'person_invitation',
    sealedFor: about.sealed_for,
    to,
    facts: {
      path: `/invited/${invitationToken(deps, about)}`,
      until: about.invitation?.expires_at ?? call.at,
      roles: about.roles,
      owners: about.owners,
    },
  });

const refusalOf = (rejection: RejectedBy<PersonRejection>): Refusal =>
  refuseRejected(rejection, NO_PERSON);

const renderInvited = async (deps: Deps, state: PersonState) => ({
  ...(await renderPerson(deps, state)),
  invitation_url: `${deps.origin()}/invited/${invitationToken(deps, state)}`,
});

/** Invites a person, or again one who was ended. The link is mailed, and shown in this answer. */
export const invitePerson: DeskHandler<'invitePerson'> = async (deps, input, call) => {
  const { name, mailbox } = input;
  const rights = { roles: [...new Set(input.roles)], owners: [...new Set(input.owners)] };
  const refused = refuseRights(call, rights);
  if (refused) return refused;
  const { personId } = await findPersonOf(deps, mailbox);
  const named =
    (rights.owners.length > 0 ? refuseHouseNames(deps, { '/name': name }) : undefined) ??
    (await refuseName(deps, { name, personId }));
  if (named) return named;
  const invitation = newInvitation(deps, call);
  const sealed = await sealMailbox(deps, { personId, mailbox, request: call.requestId });
  const invited = {
    person_id: personId,
    name,
    ...sealed,
    ...rights,
    invited_by: call.actor,
    invitation,
  };
  const written = await decideAndAppend(deps, call, {
    stream: streamOfPerson(personId),
    decider: person,
    command: () =>
      issue<PersonCommand>(
        { type: 'Invite', person: invited },
        { effects: () => mailInvitation(deps, call, { ...invited, to: mailbox }) },
      ),
  });
  if ('rejected' in written) return refusalOf(written);
  return written.ok ? done(await renderInvited(deps, written.state), traceOf(written)) : written;
};

/** Reads a person whom the caller sees; the refusal otherwise. */
const seenPerson = async (
  deps: Pick<Deps, 'log'>,
  call: DeskCall,
  personId: string,
): Promise<PersonState | Refusal> => {
  const state = await readPersonState(deps, personId);
  return state && sees(call, state) ? state : NO_PERSON;
};

const LOST = refuse(
  'state_conflict',
  'The mailbox of the person was erased, or its key is lost. End the person, and invite again with the mailbox.',
);

export const invitePersonAgain: DeskHandler<'invitePersonAgain'> = async (deps, input, call) => {
  const { person_id: personId } = input;
  const seen = await seenPerson(deps, call, personId);
  if (isRefusal(seen)) return seen;
  const to = await openOne(deps.vault, seen.sealed_mailbox);
  if (typeof to !== 'string') return LOST;
  const invitation = newInvitation(deps, call);
  const written = await decideAndAppend(deps, call, {
    stream: streamOfPerson(personId),
    decider: person,
    command: () =>
      issue<PersonCommand>(
        { type: 'InviteAgain', invitation },
        { effects: () => mailInvitation(deps, call, { ...seen, invitation, to }) },
      ),
  });
  if ('rejected' in written) return refusalOf(written);
  return written.ok ? done(await renderInvited(deps, written.state), traceOf(written)) : written;
};

/** The shortest lists that contain all whom a caller sees, as far as the filters tell. */
const rangesOf = ({ caller }: DeskCall, owner: string | undefined, name: string): ListRange[] => {
  const owners = owner === undefined ? caller.owners : [owner];
  if (owners) return owners.map((one) => ({ list: listBy({ owner: one }) }));
  const [longest = ''] = foldedWords(name).sort((a, b) => b.length - a.length);
  return [present({ list: listOfWord(longest) })];
};

export const listPeople: DeskHandler<'listPeople'> = async (deps, input, call) => {
  const { owner_id: owner, name = '', before, limit } = input;
  if (owner !== undefined && !mayActFor(call, owner)) return NO_OWNER;
  const wanted = foldedWords(name);
  const scanned = await scanLists<PersonRow>(deps.readModels, {
    name: 'access',
    scope: accessScope(DESK, 'person'),
    ranges: rangesOf(call, owner, name),
    after: before,
    isMatch: (row) => sees(call, row) && haveBeginnings([row.name], wanted),
    limit: limit + 1,
    rowsMax: ROWS_READ_MAX,
  });
  const { rows, next } = pageOfScan(scanned, limit);
  const data = await Promise.all(rows.map((row) => renderPerson(deps, row)));
  return done({ data, next_before: next, as_of: renderAsOf(deps.following.asOf()) });
};

export const readPerson: DeskHandler<'readPerson'> = async (deps, { person_id }, call) => {
  const seen = await seenPerson(deps, call, person_id);
  if (isRefusal(seen)) return seen;
  const mailbox = shownText(await openOne(deps.vault, seen.sealed_mailbox));
  return done({ ...(await renderPerson(deps, seen)), mailbox });
};

const YOURSELF = refuse('state_conflict', 'Nobody changes or ends themselves: ask another person.');

const changePerson = async (
  deps: Deps,
  call: DeskCall,
  { personId, command }: { personId: string; command: PersonCommand },
) => {
  const seen = await seenPerson(deps, call, personId);
  if (isRefusal(seen)) return seen;
  if (call.caller.personId === personId) return YOURSELF;
  const changed = await changeRecord(deps, call, {
    ownerId: DESK,
    stream: streamOfPerson(personId),
    decider: person,
    command: () => issue(command),
    refusal: refusalOf,
    render: (state) => state,
  });
  return changed.ok ? { ...changed, value: await renderPerson(deps, changed.value) } : changed;
};

export const changePersonRoles: DeskHandler<'changePersonRoles'> = async (deps, input, call) => {
  const { person_id: personId, reason } = input;
  const roles = [...new Set(input.roles)];
  const owners = [...new Set(input.owners)];
  const refused = refuseRights(call, { roles, owners });
  if (refused) return refused;
  const command = { type: 'ChangeRoles', roles, owners, reason } as const;
  return changePerson(deps, call, { personId, command });
};

/** Ends a person. Sessions, tokens and logins look the person up on every call, so that they end with this event. */
export const endPerson: DeskHandler<'endPerson'> = (deps, { person_id, reason }, call) =>
  changePerson(deps, call, {
    personId: person_id,
    command: { type: 'EndPerson', reason },
  });

/** The person whose mailbox a subject seals, for display; undefined if it was erased, or replaced by an invitation. */
export const personOf = async (deps: Pick<Deps, 'log' | 'vault'>, subject: string) => {
  const state = await readPersonState(deps, personOfSubject(subject));
  if (state?.sealed_for !== subject || state.erased === subject) return undefined;
  const { name, roles, owners, sealed_mailbox } = state;
  return { name, roles, owners, mailbox: shownText(await openOne(deps.vault, sealed_mailbox)) };
};

/** Ends a person who asks for erasure, and destroys the key of the mailbox. The name stays with what the person did. */
export const erasePerson = async (
  deps: EventWriter & Pick<Deps, 'vault'>,
  call: Call,
  { subject, reason }: { subject: string; reason: string },
) => {
  const outcome = await changeRecord(deps, call, {
    ownerId: DESK,
    stream: streamOfPerson(personOfSubject(subject)),
    decider: person,
    command: () => issue<PersonCommand>({ type: 'EndPerson', reason, erased: subject }),
    refusal: refusalOf,
    render: () => ({ subject }),
  });
  if (outcome.ok) await deps.vault.destroy(subject);
  return outcome;
};
