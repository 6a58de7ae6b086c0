/** Who sells, as buyers' pages and letters say it. */
import type { Writer } from './money.ts';

export type House = {
  name: string;
  address: string | undefined;
  mailbox: string | undefined;
  phone: string | undefined;
  vatNumber: string | undefined;
  /** What prices include; undefined if nothing is said about it. */
  prices: 'nothing' | 'vat' | 'delivery' | 'both' | undefined;
  /** Working days until staff answer a buyer. */
  answerDays: number | undefined;
};

/** What prices include and how long an answer takes, as one paragraph; empty if neither is set. */
export const termsOf = (
  { prices, answerDays }: Pick<House, 'prices' | 'answerDays'>,
  { say }: Writer,
): string =>
  [
    prices && say(`house_prices_${prices}`),
    answerDays !== undefined && say('house_answer', { count: answerDays }),
  ]
    .filter((part) => typeof part === 'string')
    .join(' ');

/** Who sells, and how to reach them, as one paragraph. */
export const sellerOf = (
  { name, address, mailbox, phone, vatNumber: number }: House,
  { say }: Writer,
): string =>
  [
    say('house_sold_by', { house: address === undefined ? name : `${name}, ${address}` }),
    mailbox && say('house_mailbox', { mailbox }),
    phone && say('house_phone', { phone }),
    number && say('house_vat', { number }),
  ]
    .filter((part) => typeof part === 'string')
    .join(' ');
