/** The mail address of a mailbox: which texts are one, how it is compared, and how it is sent to. */
import { z } from 'zod';
import { exempt } from './fields.ts';
import { INVISIBLE, trimmedText } from './texts.ts';

const ASCII_DOMAIN = /^[a-z0-9.-]*$/i;
/** Characters that a URL would read as the end of its host, or decode. */
const NO_HOST = /[\s/\\?#:@%[\]]/;

/** Converts a domain to ASCII in lower case by UTS 46; a text that is none only to lower case. */
const asciiDomain = (domain: string): string => {
  const url = `http://${domain}`;
  if (ASCII_DOMAIN.test(domain) || NO_HOST.test(domain) || !URL.canParse(url))
    return domain.toLowerCase();
  return new URL(url).hostname;
};

/** The address as mail is sent to it: as it was typed, with the domain in ASCII and the local part in NFC. */
export const deliveryAddress = (address: string): string => {
  const at = address.lastIndexOf('@');
  return `${address.slice(0, at).normalize('NFC')}@${asciiDomain(address.slice(at + 1))}`;
};

/**
 * The canonical form of an address, in which all its spellings are equal: the domain in ASCII, the local part in NFC, and
 * both in lower case.
 */
export const canonicalAddress = (address: string): string => {
  const sent = deliveryAddress(address);
  return sent.toLowerCase().normalize('NFC');
};

const LOCAL =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~\u0080-\u{10ffff}-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~\u0080-\u{10ffff}-]+)*$/u;
const LOCAL_BYTES_MAX = 64;
const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const DOMAIN = new RegExp(`^(?=.{1,253}$)(?:${LABEL}\\.)+(?=[a-z])${LABEL}(?<=..)$`);
const ADDRESS_CHARS_MAX = 254;

/** Whether an address has the form of RFC 5321 or, with letters beyond ASCII, of RFC 6531: no quotes, a domain with a dot. */
const isMailbox = (address: string): boolean => {
  const canonical = canonicalAddress(address);
  const at = canonical.lastIndexOf('@');
  const local = canonical.slice(0, at);
  return (
    canonical.length <= ADDRESS_CHARS_MAX &&
    Buffer.byteLength(local) <= LOCAL_BYTES_MAX &&
    LOCAL.test(local) &&
    !INVISIBLE.test(local) &&
    DOMAIN.test(canonical.slice(at + 1))
  );
};

/** A mail address, as it was typed. The part before the @ and the domain can have letters beyond ASCII. */
export const mailbox = exempt(
  'encrypted',
  z
    .string()
    .overwrite(trimmedText)
    .max(ADDRESS_CHARS_MAX)
    .refine((value) => value.isWellFormed() && isMailbox(value), {
      error: 'must be an e-mail address, like ada@example.com',
      params: { code: 'invalid_format' },
    })
    .meta({ format: 'idn-email' }),
);
