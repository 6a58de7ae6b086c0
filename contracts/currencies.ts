/**
 * The currencies of ISO 4217 and the decimals of each. The only source of them: the locale data of a runtime differs from
 * the standard and between versions, and a stored amount in minor units must never change its meaning.
 */

/** The day of the list ("List One") that this table repeats. */
export const CURRENCIES_DATE = '2026-01-01';

/** Codes by their number of decimals. Without those that have none: metals, units of account and tests. */
const CODES: Readonly<Record<number, string>> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  2:
    'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY ' +
    'COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS ' +
    'INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR ' +
    'MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP ' +
    'STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
};

/** The number of decimals of each currency: an amount of 129.50 GBP is stored as 12950. */
export const DECIMALS: ReadonlyMap<string, number> = new Map(
  Object.entries(CODES).flatMap(([decimals, codes]) =>
    codes.split(' ').map((code): [string, number] => [code, Number(decimals)]),
  ),
);

const DECIMALS_USUAL = 2;

/** The decimals of a currency; the usual two for a code that a later list no longer has. */
export const decimalsOf = (currency: string): number => DECIMALS.get(currency) ?? DECIMALS_USUAL;
