import { describe, expect, it } from 'vitest';
import { differences } from '#src/handoffs/quotation.decider.ts';

const eur = (amount: number) => ({ currency: 'EUR', amount });
const usd = (amount: number) => ({ currency: 'USD', amount });
const inEur = (quoted: number, listed: number) => ({ currency: 'EUR', quoted, listed });
const inUsd = (quoted: number, listed: number) => ({ currency: 'USD', quoted, listed });

describe('The total of a quotation', () => {
  it.each([
    [100, 100],
    [125, 100],
    [75, 100],
    [0, 0],
  ])('The total of a quotation differs little from its list at %d for %d', (quoted, listed) => {
    expect(differences([eur(quoted)], [eur(listed)])).toEqual([]);
  });

  it.each([
    [126, 100],
    [74, 100],
    [1, 0],
    [0, 1],
  ])('The total of a quotation differs much from its list at %d for %d', (quoted, listed) => {
    expect(differences([eur(quoted)], [eur(listed)])).toEqual([inEur(quoted, listed)]);
  });

  it('The total of a quotation in a currency that its list lacks is compared with nothing', () => {
    expect(differences([eur(100), usd(1)], [eur(100)])).toEqual([inUsd(1, 0)]);
    expect(differences([eur(1)], [])).toEqual([inEur(1, 0)]);
  });

  it('The total of a quotation that lacks a currency of its list is nothing there', () => {
    expect(differences([eur(100)], [usd(9), eur(100)])).toEqual([inUsd(0, 9)]);
    expect(differences([], [eur(1)])).toEqual([inEur(0, 1)]);
  });

  it('The total of a quotation is compared once for each currency, in the order of the list', () => {
    expect(differences([usd(30), eur(200)], [eur(100), usd(20)])).toEqual([
      inEur(200, 100),
      inUsd(30, 20),
    ]);
    expect(differences([usd(30), eur(110)], [eur(100), usd(20)])).toEqual([inUsd(30, 20)]);
    expect(differences([usd(5), eur(200)], [eur(100)])).toEqual([inEur(200, 100), inUsd(5, 0)]);
    expect(differences([], [])).toEqual([]);
  });
});
