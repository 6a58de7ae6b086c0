/** Which assistant an agent acts with, as its client names itself: kept with events, and never trusted. */
import { beginningOf } from '#contracts/texts.ts';
import { identifier } from '#contracts/fields.ts';
import { CREDENTIAL_PATTERN } from '#src/calls/authenticate.ts';
import type { ClientInfo } from '#src/shared/call.ts';
import { isRecord, present } from '#src/shared/json.ts';

const NAME_CHARS_MAX = 64;
const VERSION_CHARS_MAX = 32;

/** Returns a text without what cannot be seen; undefined if nothing is left, or if it has contact details or a credential. */
const cleaned = (value: unknown, max: number): string | undefined => {
  if (typeof value !== 'string' || CREDENTIAL_PATTERN.test(value)) return undefined;
  // Cut only after it was read whole: a part of an address is none.
  const read = identifier(16 * max).safeParse(beginningOf(value.toWellFormed(), 16 * max));
  return read.success ? beginningOf(read.data, max).trim() || undefined : undefined;
};

const clientOf = (said: {
  name: unknown;
  version: unknown;
  model: unknown;
}): ClientInfo | undefined => {
  const name = cleaned(said.name, NAME_CHARS_MAX);
  if (name === undefined) return undefined;
  const version = cleaned(said.version, VERSION_CHARS_MAX);
  return { name, ...present({ version, model: cleaned(said.model, NAME_CHARS_MAX) }) };
};

const PRODUCT = /^\s*([^\s/();,]+)(?:\/([^\s();,]+))?/;
const MODEL = /(?:^|\s)model\/([^\s();,]+)/i;

/** Reads the first product of a User-Agent, and the product `model`: `acme-agent/1.2 model/gpt-5`. */
export const clientInAgent = (userAgent: string | undefined): ClientInfo | undefined => {
  const [, name, version] = PRODUCT.exec(userAgent ?? '') ?? [];
  return clientOf({ name, version, model: MODEL.exec(userAgent ?? '')?.[1] });
};

/** Reads a client from `clientInfo` ({ name, version }), and its model from there or from beside it. */
export const clientIn = (clientInfo: unknown, model?: unknown): ClientInfo | undefined =>
  isRecord(clientInfo)
    ? clientOf({
        name: clientInfo['name'],
        version: clientInfo['version'],
        model: model ?? clientInfo['model'],
      })
    : undefined;
