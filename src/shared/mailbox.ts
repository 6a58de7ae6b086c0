/** Which addresses reach one mailbox, and which domains tell the company. */
import { canonicalAddress } from '#contracts/mailbox.ts';

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

/** Further domains at which people of any company have an address or a page. */
const SHARED_DOMAINS: ReadonlySet<string> = new Set([
  ...PROVIDERS.keys(),
  '163.com',
  'aol.com',
  'btinternet.com',
  'etsy.com',
  'facebook.com',
  'free.fr',
  'gmx.de',
  'gmx.net',
  'instagram.com',
  'libero.it',
  'linkedin.com',
  'mail.ru',
  'orange.fr',
  'qq.com',
  't-online.de',
  'web.de',
  'yahoo.co.uk',
  'yahoo.com',
  'yandex.ru',
]);

/** The domains of an address and of a web address that tell the company: none that people of any company share. */
export const companyDomains = (
  email: string | undefined,
  website: string | undefined,
): readonly string[] => {
  const mail = email === undefined ? '' : canonicalAddress(email).replace(/^.*@/, '');
  const web = website === undefined ? '' : new URL(website).hostname.replace(/^www\./, '');
  return [...new Set([mail, web])].filter((one) => one !== '' && !SHARED_DOMAINS.has(one));
};

/** One name for all addresses that reach the same mailbox. */
export const mailboxOf = (email: string): string => {
  const address = canonicalAddress(email);
  const at = address.lastIndexOf('@');
  const domain = address.slice(at + 1);
  const { hasTags, ignoresDots, domain: own = domain } = PROVIDERS.get(domain) ?? {};
  const [untagged = ''] = address.slice(0, at).split('+');
  const local = hasTags && untagged !== '' ? untagged : address.slice(0, at);
  return `${ignoresDots ? local.replaceAll('.', '') : local}@${own}`;
};

/** Whether two addresses are spellings of one address, also where no provider folds it. */
export const isSameAddress = (one: string, other: string): boolean =>
  canonicalAddress(one) === canonicalAddress(other);

export const isSameMailbox = (one: string, other: string): boolean =>
  mailboxOf(one) === mailboxOf(other);

/** A record that was found by an address: it has that address, or another spelling of its mailbox. */
type Match = { id: string; match: 'exact' | 'folded' };

/** Chooses the exact matches, and the folded ones whose ids are named. */
export const chosenMatches = <Found extends Match>(
  found: readonly Found[],
  folded: readonly string[],
): Found[] => found.filter(({ id, match }) => match === 'exact' || folded.includes(id));
