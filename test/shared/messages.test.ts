/** The texts of buyers' pages and letters: each exists in each language, with the same values and all plurals. */
import { describe, expect, it } from 'vitest';
import { BOUNDARIES } from '#contracts/boundaries.ts';
import { WARNINGS } from '#contracts/handoffs/records.ts';
import { LANGUAGES, type MessageKey } from '#src/shared/messages.ts';
import { en } from '#src/shared/messages/en.ts';
import { regionalLocale, writerFor } from '#src/shared/money.ts';

const KEYS = Object.keys(en) as MessageKey[];
const languages = Object.entries(LANGUAGES);

const formsOf = (message: string | Record<string, string>): string[] =>
  typeof message === 'string' ? [message] : Object.values(message);
const valuesIn = (text: string): string[] =>
  [...new Set([...text.matchAll(/\{([a-z_]+)\}/g)].map(([, name = '']) => name))].toSorted();

/** Words that only an English text has. */
const ENGLISH = /\b(?:the|your|you|this|and|staff|with)\b/i;

describe.each(languages)('The texts in %s', (language, messages) => {
  it('A file of texts has each key, with the values of the English text', () => {
    expect(Object.keys(messages).toSorted()).toEqual(KEYS.toSorted());
    for (const key of KEYS)
      for (const form of formsOf(messages[key])) {
        const [first = ''] = formsOf(en[key]);
        expect([key, valuesIn(form)]).toEqual([key, valuesIn(first)]);
        expect(form.trim(), key).toBe(form);
        expect(form, key).not.toBe('');
        // Strong text ends where it begins.
        expect(form.split('**').length % 2, key).toBe(1);
      }
  });

  it('A text that depends on a number has a form for each plural of the language', () => {
    const { pluralCategories } = new Intl.PluralRules(language).resolvedOptions();
    for (const key of KEYS) {
      const message = messages[key];
      if (typeof message === 'object')
        expect([key, Object.keys(message).toSorted()]).toEqual([key, pluralCategories.toSorted()]);
    }
  });

  it.skipIf(language === 'en')('A text of another language is not English', () => {
    for (const key of KEYS)
      for (const form of formsOf(messages[key])) expect(form, key).not.toMatch(ENGLISH);
  });
});

it('The English texts of warnings and boundaries are those of the contract', () => {
  for (const [warning, text] of Object.entries(WARNINGS))
    expect(en[`warning_${warning as keyof typeof WARNINGS}`]).toBe(text);
  for (const { id, statement } of BOUNDARIES) expect(en[`bound_${id}`]).toBe(statement);
});

it('A locale without a region is that of the buyer’s country, and English is not American', () => {
  expect(regionalLocale('en')).toBe('en-GB');
  expect(regionalLocale('de')).toBe('de-DE');
  expect(regionalLocale('de', 'AT')).toBe('de-AT');
  expect(regionalLocale('en-US', 'DE')).toBe('en-US');
  expect(regionalLocale('sr-Latn', 'RS')).toBe('sr-Latn-RS');
  expect(regionalLocale('fr')).toBe('fr');
  const day = Date.UTC(2026, 10, 28);
  expect(writerFor(regionalLocale('en')).day(day)).toBe('28 November 2026');
  expect(writerFor(regionalLocale('de')).money(123_456, 'EUR')).toBe('1.234,56\u00a0€');
});

it('A number in a text is written in its locale, in the plural of its language', () => {
  expect(writerFor('de-DE').say('line_count', { count: 1 })).toBe('1 Position');
  expect(writerFor('de-DE').say('line_count', { count: 1_200 })).toBe('1.200 Positionen');
  expect(writerFor('fr').say('line_count', { count: 0 })).toBe('0 lines');
});
