/** One event on one line, for a person: what matters of it, without hashes and sealed text. */
import { visible } from '#src/app/outreach/visible.ts';
import type { Answer } from '../desk/desk-client.ts';

export type ShownEvent = Answer<'readEvents'>['data'][number];

const VALUE_CHARS_MAX = 48;
/** Digests, which say nothing to a person, and what stands in other columns. */
const PASSED_OVER = new Set(['hash', 'token_hash', 'pepper_version', 'fingerprint', 'visitor']);
const SEALED = /^s1\.[a-z]+_/;

const valueText = (value: unknown): string => {
  if (typeof value !== 'string') return String(value);
  if (SEALED.test(value)) return '(sealed)';
  const cut = value.length > VALUE_CHARS_MAX ? `${value.slice(0, VALUE_CHARS_MAX - 1)}…` : value;
  // A terminal obeys what it is sent: nothing that anybody wrote gets there unseen.
  const short = visible(cut).shown;
  return /^[^\s"=]+$/.test(short) ? short : JSON.stringify(short);
};

const isTime = (name: string, value: unknown): value is number =>
  name.endsWith('_at') && typeof value === 'number';

const isMoney = (value: object): value is { amount: number; currency: string } =>
  'amount' in value && 'currency' in value;

const memberText = (name: string, value: unknown): string[] => {
  if (PASSED_OVER.has(name)) return [];
  if (isTime(name, value)) return [`${name}=${new Date(value).toISOString()}`];
  if (Array.isArray(value)) {
    const plain = value.every((item) => typeof item === 'string');
    if (value.length === 0) return [];
    return [`${name}=${plain ? valueText(value.join(',')) : value.map(itemText).join(',')}`];
  }
  if (typeof value !== 'object' || value === null) return [`${name}=${valueText(value)}`];
  if (isMoney(value)) return [`${name}=${itemText(value)}`];
  return Object.entries(value).flatMap(([inner, of]) => memberText(`${name}.${inner}`, of));
};

/** An item of a list: money as such, any other by the name that people know it by. */
const itemText = (item: unknown): string => {
  if (typeof item !== 'object' || item === null) return valueText(item);
  if (isMoney(item)) return `${item.amount}:${item.currency}`;
  const { sku, quantity, min_quantity, unit_price, operation, surface, decision, code, count } =
    item as Record<string, string | number | undefined>;
  if (sku !== undefined) return `${sku}x${quantity}`;
  if (min_quantity !== undefined) return `${min_quantity}:${unit_price}`;
  if (operation === undefined) return '{…}';
  return `${surface}/${operation}:${code ?? decision}${count === 1 ? '' : `x${count}`}`;
};

/** Without what the stream and the actor say already; what numbers are grouped by comes last. */
const dataText = ({ data, stream, meta }: ShownEvent): string => {
  const own = stream.slice(stream.indexOf('_') + 1);
  const { dims = {}, ...rest } = data as Record<string, unknown> & { dims?: object };
  return [...Object.entries(rest), ...Object.entries(dims)]
    .filter(([, value]) => value !== meta['actor'])
    .filter(([, value]) => typeof value !== 'string' || !value.endsWith(own))
    .flatMap(([name, value]) => memberText(name, value))
    .join(' ');
};

/** Cells of a table: position, time, type, surface, who, stream, data. */
export const eventCells = (event: ShownEvent): string[] => {
  const { position, at, type, stream, meta } = event;
  const { surface, actor } = meta as { surface?: string; actor?: string };
  return [
    String(position).padStart(6),
    at.replace('T', ' ').replace(/\.\d+Z$/, 'Z'),
    type,
    surface ?? '-',
    actor ?? '-',
    stream,
    dataText(event),
  ];
};
