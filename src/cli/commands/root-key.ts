/** The change of the root key. */
import { type CommonOptions, configFor } from '#src/cli/options.ts';
import { hasLog, noDataError } from '#src/cli/service.ts';
import { CommandError, EXIT, printResult } from '#src/cli/terminal.ts';
import { requireAgreement } from '#src/cli/effects.ts';
import type { KeyName } from '#src/system/keyring.ts';
import { createRoot, hasRoot, readRoot, replaceRoot, stagedRootOf } from '#src/system/secrets.ts';
import { openRoot, rotate } from '#src/wiring/vault.ts';

type RotateOptions = CommonOptions & { new?: string; compromised?: boolean; yes?: boolean };

const LINKS = 'Links to lists, requests and quotations: make the lists and quotations again.';
const PEOPLE =
  'Desk tokens, sessions and logins: people sign in again; the next start writes desk.token.';
const MAILED = 'Links in letters that were sent: ask for new ones.';
const AGAIN = 'Cursors and contexts of agents: they begin again.';
const COUNTS = 'Visitors and similar leads are counted anew.';
const SIGNED =
  'Signatures: who keeps the public keys reads the new ones at the addresses of this service.';

/** What a new generation of a key ends; null if what it named is still found. */
const ENDS: Record<KeyName, string | null> = {
  'api-key': 'API keys: issue new ones.',
  'desk-token': PEOPLE,
  session: PEOPLE,
  'sign-in': PEOPLE,
  'root-token': PEOPLE,
  'handoff-token': LINKS,
  'rfq-confirmation': LINKS,
  'rfq-quotation': LINKS,
  'mailed-link': MAILED,
  webhook: 'Secrets of webhooks: give receivers the new ones.',
  cursor: AGAIN,
  'task-context': AGAIN,
  'lead-hint': COUNTS,
  visitor: COUNTS,
  attribution: 'Attribution tokens.',
  signing: SIGNED,
  notary: 'Checkpoints without NOTARY_KEY: give the new key to those who verify.',
  claim: null,
  fingerprint: null,
  privacy: null,
  mailbox: null,
  vault: null,
};

const effectOf = () => ({
  lines: [
    'This stops working:',
    ...new Set(Object.values(ENDS).flatMap((text) => (text === null ? [] : [`- ${text}`]))),
    'Claims, refusals of contact and personal data stay. Every process must be stopped before.',
  ],
});

/**
 * Wraps the keyring with a new root key, with new secrets if others may know the present ones. The new root key is durable in
 * a file before the keyring needs it, so the command can be repeated after a crash at any step.
 */
export const rotateRootKey = async (options: RotateOptions): Promise<void> => {
  const config = configFor(options);
  if (!hasLog(config)) throw noDataError(config);
  const { dataDirectory: directory } = config;
  const isStored = hasRoot(directory);
  if (!isStored && options.new === undefined)
    throw new CommandError(
      EXIT.usage,
      'the root key is not in the data directory, so name a file for the new one: --new FILE. It is created if there is none',
    );
  const isCompromised = options.compromised === true;
  if (isCompromised && !options.yes) await requireAgreement(effectOf(), options);
  const root = openRoot(config);
  const file = options.new ?? stagedRootOf(directory);
  const next = readRoot(file) ?? createRoot(file);
  await rotate(config, { root, next, isCompromised });
  if (isStored) replaceRoot(directory, next);
  const todo = [
    ...(isStored ? ['root.key is the new root key: store it apart from backups.'] : []),
    ...(config.rootKey ? [`Set ROOT_KEY to the content of ${file} for all processes.`] : []),
    isCompromised
      ? 'All secrets are new. Start the service, and issue new keys.'
      : 'Processes that run continue. Keep the former root key as long as the backups from before.',
  ];
  printResult(options, { rotated: true, file: isStored ? 'root.key' : file }, todo.join('\n'));
};
