/** The rules of quotations: what one comes to, whether it differs much from the list, and its hash. */
import type { EventData } from '#contracts/registries/events.ts';
import { hashOfJson } from '#src/shared/json.ts';
import type { Money } from '#src/shared/proposal.ts';

type Quoted = EventData<'RfqQuoted'>;

/** What staff offer, before it has a number. */
export type Offer = NonNullable<EventData<'RfqMoveProposed'>['offer']>;

/** A quotation as its buyer has it. */
export type Quotation = Offer & Pick<Quoted, 'number' | 'hash'>;

/** The members that the hash covers. A record, because the compiler then reports a member that is missing here. */
const HASHED: Record<keyof Offer, true> = {
  lines: true,
  left_out: true,
  charges: true,
  values: true,
  valid_until: true,
  sealed_texts: true,
};

export const offerIn = (quoted: Offer): Offer =>
  Object.fromEntries(
    Object.keys(HASHED).flatMap((name) => {
      const value = quoted[name as keyof Offer];
      return value === undefined ? [] : [[name, value]];
    }),
  ) as Offer;

/**
 * Hashes everything of a quotation that its buyer sees, with the texts as they are stored: sealed. So the hash can be
 * computed again from the log, also after an erasure, and says nothing about a person.
 */
export const hashOfQuotation = (
  handoffId: string,
  { number, ...offer }: Offer & { number: number },
): string => hashOfJson({ handoff_id: handoffId, number, ...offerIn(offer) });

/** What lines and charges come to, per currency. */
export const valuesOf = ({ lines, charges }: Pick<Offer, 'lines' | 'charges'>): Money[] => {
  const sums = new Map<string, number>();
  const add = (currency: string, amount: number) =>
    sums.set(currency, (sums.get(currency) ?? 0) + amount);
  for (const { currency, quantity, unit_price } of lines) add(currency, quantity * unit_price);
  for (const { currency, amount } of charges) add(currency, amount);
  return [...sums].map(([currency, amount]) => ({ amount, currency }));
};

const amountIn = (values: readonly Money[], currency: string): number =>
  values.find((one) => one.currency === currency)?.amount ?? 0;

/** The totals that differ from those of the list by more than a quarter of them. */
export const differences = (
  values: readonly Money[],
  listed: readonly Money[],
): { currency: string; quoted: number; listed: number }[] =>
  [...new Set([...listed, ...values].map(({ currency }) => currency))]
    .map((currency) => ({
      currency,
      quoted: amountIn(values, currency),
      listed: amountIn(listed, currency),
    }))
    .filter((one) => Math.abs(one.quoted - one.listed) * 4 > one.listed);
