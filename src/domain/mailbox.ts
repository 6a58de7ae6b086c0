/** How a provider delivers several addresses to one mailbox. */
type Folding = {
  /** Whether the local part ends at the first `+`. */
  hasTags?: true;
  /** Whether dots in the local part are ignored. */
  ignoresDots?: true;
  /** The domain of the mailbox, if the provider has several for it. */
  domain?: string;
};

const TAGS: Folding = { hasTags: true };
const GMAIL: Folding = { hasTags: true, ignoresDots: true, domain: 'gmail.com' };

/** Providers that document it. Any other server may deliver such addresses to different people. */
const PROVIDERS: ReadonlyMap<string, Folding> = new Map([
  ['gmail.com', GMAIL],
  ['googlemail.com', GMAIL],
  ['outlook.com', TAGS],
  ['hotmail.com', TAGS],
  ['live.com', TAGS],
  ['icloud.com', TAGS],
  ['me.com', TAGS],
  ['mac.com', TAGS],
  ['fastmail.com', TAGS],
  ['proton.me', TAGS],
  ['protonmail.com', TAGS],
]);

/** The address as it is compared where no provider folds it. */
export const addressKey = (email: string): string => email.toLowerCase();

/** One name for all addresses that reach the same mailbox. */
export const mailboxOf = (email: string): string => {
  const address = addressKey(email);
  const at = address.lastIndexOf('@');
  const domain = address.slice(at + 1);
  const { hasTags, ignoresDots, domain: own = domain } = PROVIDERS.get(domain) ?? {};
  const [untagged = ''] = address.slice(0, at).split('+');
  const local = hasTags && untagged !== '' ? untagged : address.slice(0, at);
  return `${ignoresDots ? local.replaceAll('.', '') : local}@${own}`;
};
