/** One event on one line for a person, without hashes and encrypted text. */
import { moneyText } from '#src/shared/cells.ts';
import type { DeskAnswer } from '#src/cli/desk/desk-transport.ts';
import { formatSafely, isMoney } from './answer-text.ts';

export type ShownEvent = DeskAnswer<'readEvents'>['data'][number];

const VALUE_CHARS_MAX = 48;
/** Members that mean nothing to a person. */
const HIDDEN = new Set(['hash', 'token_hash', 'pepper_version', 'fingerprint', 'visitor']);
const SEALED = /^s1\.[a-z]+_/;

const fieldText = (value: unknown): string => {
  if (typeof value !== 'string') return String(value);
  if (SEALED.test(value)) return '(sealed)';
  const cut = value.length > VALUE_CHARS_MAX ? `${value.slice(0, VALUE_CHARS_MAX - 1)}…` : value;
  const safe = formatSafely(cut);
  return /^[^\s"=]+$/.test(safe) ? safe : JSON.stringify(safe);
};

const memberText = (name: string, value: unknown): string[] => {
  if (HIDDEN.has(name.slice(name.lastIndexOf('.') + 1))) return [];
  if (typeof value === 'number' && /(_at|until|not_before|not_after)$/.test(name))
    return [`${name}=${new Date(value).toISOString()}`];
  if (Array.isArray(value)) {
    if (value.length === 0) return [];
    const isPlain = value.every((item) => typeof item === 'string');
    return [`${name}=${isPlain ? fieldText(value.join(',')) : value.map(itemText).join(',')}`];
  }
  if (typeof value !== 'object' || value === null) return [`${name}=${fieldText(value)}`];
  if (isMoney(value)) return [`${name}=${itemText(value)}`];
  return Object.entries(value).flatMap(([inner, member]) => memberText(`${name}.${inner}`, member));
};

/** Formats an item of a list: money, a line of a handoff, a price tier, or an audit record. */
const itemText = (item: unknown): string => {
  if (typeof item !== 'object' || item === null) return fieldText(item);
  if (isMoney(item)) return moneyText(item).replace(' ', ':');
  const { sku, quantity, min_quantity, unit_price, operation, surface, decision, code, count } =
    item as Record<string, string | number | undefined>;
  if (sku !== undefined) return `${sku}x${quantity}`;
  if (min_quantity !== undefined) return `${min_quantity}:${unit_price}`;
  if (operation === undefined) return '{…}';
  return `${surface}/${operation}:${code ?? decision}${count === 1 ? '' : `x${count}`}`;
};

/** Formats the data without what the stream and the actor say already; dimensions come last. */
export const formatData = ({
  data,
  stream,
  actor,
}: Pick<ShownEvent, 'data' | 'stream'> & { actor: unknown }): string => {
  const ownId = stream.slice(stream.indexOf('_') + 1);
  const { dims = {}, ...rest } = data as Record<string, unknown> & { dims?: object };
  return [...Object.entries(rest), ...Object.entries(dims)]
    .filter(([, value]) => value !== actor)
    .filter(([, value]) => typeof value !== 'string' || !value.endsWith(ownId))
    .flatMap(([name, value]) => memberText(name, value))
    .join(' ');
};

/** Returns the cells of a table row: position, time, type, surface, actor, stream, data. */
export const toCells = (event: ShownEvent): string[] => {
  const { position, at, type, stream, meta } = event;
  const { surface = '-', actor = '-' } = meta as { surface?: string; actor?: string };
  const time = at.replace('T', ' ').replace(/\.\d+Z$/, 'Z');
  const late = event.after_revocation ? '(after the revocation of its credential) ' : '';
  const data = late + formatData({ ...event, actor });
  return [String(position).padStart(6), time, type, surface, actor, stream, data];
};
