/** Who may not be contacted any more. */
import { canonicalAddress } from '#contracts/mailbox.ts';
import type { EventData } from '#contracts/registries/events.ts';
import { isTestSpace } from '#contracts/spaces.ts';
import { DESK } from '#src/calls/audit.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { SUPPRESSION } from '#src/ports/rows.ts';
import type { Secrets } from '#src/ports/system.ts';
import type { Call } from '#src/shared/call.ts';
import { mailboxOf } from '#src/shared/mailbox.ts';
import type { Refusal } from '#src/shared/outcome.ts';
import { iso } from '#src/shared/time.ts';
import {
  decideAndAppend,
  issue,
  type Written,
  releaseAfterWrite,
} from '#src/writing/decide-and-append.ts';
import { stateOf } from '#src/writing/streams.ts';
import {
  mailboxRequests,
  suppressedSince,
  type Suppression,
  type MailboxState,
} from './mailbox.decider.ts';

const KEY_CHARS = 32;

type Keys = Pick<Secrets, 'mac' | 'generations'>;

const newestOf = ({ generations }: Keys): number => generations('privacy')[0];

const keyOf = ({ mac }: Keys, generation: number, value: string): string =>
  `${generation}.${mac('privacy', value, generation).slice(0, KEY_CHARS)}`;

/** Keyed hash of an address's mailbox, which is equal for all spellings of one mailbox. */
const deriveMailboxKey = (secrets: Keys, email: string, generation = newestOf(secrets)): string =>
  keyOf(secrets, generation, `mailbox:${mailboxOf(email)}`);

/**
 * Keyed hashes by which the records of a person are found: of the address, and of its mailbox. The generation of the key
 * is in both, so that hashes of another key are never mistaken for these.
 */
export const deriveMailboxKeys = (
  secrets: Keys,
  email: string,
  generation = newestOf(secrets),
) => ({
  address: keyOf(secrets, generation, `address:${canonicalAddress(email)}`),
  mailbox: deriveMailboxKey(secrets, email, generation),
});

/** The generations of the key, the newest first. Hashes of earlier ones stay in the log. */
export const generationsOf = ({ generations }: Keys): number[] => generations('privacy');

const mailboxStream = (mailboxKey: string): string => `${DESK}-mailbox_${mailboxKey}`;

/**
 * The stream of a mailbox and the keys that its events have: of the generation in which the stream began. Reads the log
 * only after a rotation.
 */
export const findMailbox = async (deps: Pick<Deps, 'log' | 'secrets'>, email: string) => {
  for (const generation of generationsOf(deps.secrets).slice(1)) {
    const keys = deriveMailboxKeys(deps.secrets, email, generation);
    const stream = mailboxStream(keys.mailbox);
    if ((await deps.log.readStream(stream, 0, 1)).length > 0) return { keys, stream };
  }
  const keys = deriveMailboxKeys(deps.secrets, email);
  return { keys, stream: mailboxStream(keys.mailbox) };
};

/**
 * Since when an owner may not contact the person of an address, in epoch milliseconds. Nobody refuses contact in a test space,
 * from which nothing is sent: with few promoters in it, an agent could ask there who refuses.
 */
export type SuppressionReader = (ownerId: string, email: string) => Promise<number | undefined>;

const readerFrom =
  (
    { secrets }: Pick<Deps, 'secrets'>,
    read: (mailboxKey: string) => Promise<Suppression | undefined>,
  ): SuppressionReader =>
  async (ownerId, email) => {
    if (isTestSpace(ownerId)) return undefined;
    // Reads all generations, so that a refusal takes as many reads as none.
    const keys = generationsOf(secrets).map((one) => deriveMailboxKey(secrets, email, one));
    const suppression = (await Promise.all(keys.map(read))).find((found) => found !== undefined);
    return suppression && suppressedSince(suppression, ownerId);
  };

/** Reads one stream of the log for each address. */
export const suppressionInLog = (deps: Pick<Deps, 'log' | 'secrets'>): SuppressionReader =>
  readerFrom(deps, async (key) => {
    const state = await stateOf(deps, { stream: mailboxStream(key), decider: mailboxRequests });
    return state?.suppression;
  });

/** Reads one row for each address, for answers that show many. */
export const suppressionInRows = (deps: Pick<Deps, 'readModels' | 'secrets'>): SuppressionReader =>
  readerFrom(deps, (key) => deps.readModels.get<Suppression>('mailboxes', key, SUPPRESSION));

/** The dependencies of a read that masks the contacts of people who refuse contact. */
export const maskingDeps = (deps: Pick<Deps, 'log' | 'secrets' | 'vault'>) => ({
  vault: deps.vault,
  secrets: deps.secrets,
  suppression: suppressionInLog(deps),
});

type RequestedFor = { email: string } & Omit<EventData<'PrivacyRequestRecorded'>, 'mailbox_keys'>;

/** Records what was asked for the person of an address. A repeated call gets the request that it recorded first. */
export const recordRequest = async (
  deps: Pick<Deps, 'log' | 'ids' | 'streamQueue' | 'secrets'>,
  call: Call,
  { email, ...request }: RequestedFor,
): Promise<Written<MailboxState> | Refusal> => {
  const { keys, stream } = await findMailbox(deps, email);
  const written = await decideAndAppend(
    deps,
    { ...call, ownerId: DESK },
    {
      stream,
      decider: mailboxRequests,
      command: () =>
        issue({
          type: 'RecordRequest' as const,
          request: { mailbox_keys: keys, ...request },
        }),
    },
  );
  if ('rejected' in written) throw new Error(`${request.action} was rejected`);
  return written;
};

/**
 * Allows contact by the call's owner, if the person of an address refused it. Called after a write that is stored, so a
 * failure is ignored: the person repeats the act that allows it.
 */
export const liftRefusal = (
  deps: Pick<Deps, 'log' | 'ids' | 'streamQueue' | 'secrets'>,
  call: Call,
  email: string,
): Promise<void> =>
  releaseAfterWrite(async () => {
    if ((await suppressionInLog(deps)(call.ownerId, email)) === undefined) return;
    const lift = { owner_id: call.ownerId };
    await recordRequest(deps, call, { email, action: 'lift', lift });
  });

/** No owner is refused. */
export const NOT_REFUSED = { refused: [], exempt: [] };

/** Who may not contact the person, as the desk and the person's page show it. `owner_id` is null for every owner. */
export const renderSuppression = ({ all, owners, exempt }: Suppression) => ({
  refused: [
    ...(all === undefined ? [] : [{ owner_id: null, since: iso(all) }]),
    ...Object.entries(owners).map(([owner_id, since]) => ({ owner_id, since: iso(since) })),
  ],
  exempt: all === undefined ? [] : [...exempt],
});
