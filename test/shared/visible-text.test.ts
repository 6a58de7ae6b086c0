/** What cannot be seen is taken out where a text enters; what scripts and emoji need stays. */
import { describe, expect, it } from 'vitest';
import { trimmedText, visibleText } from '#contracts/texts.ts';

const UNSEEN = /[\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

const unseen = Array.from({ length: 0x110000 }, (_, code) => code)
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code))
  .filter((character) => UNSEEN.test(character));

describe('Every character that cannot be seen', () => {
  it('Every character that cannot be seen is nothing alone, and changes no identifier and no beginning of a text', () => {
    expect(unseen.length).toBeGreaterThan(4_000);
    const kept = unseen.filter(
      (one) =>
        visibleText(one) !== '' ||
        trimmedText(one + one) !== '' ||
        visibleText(`${one}E1${one}`) !== 'E1' ||
        !trimmedText(`${one}Mug`).startsWith('Mug') ||
        !trimmedText(`Mug ${one}`).startsWith('Mug') ||
        trimmedText(`Mug ${one}`).length !== 3,
    );
    expect(kept).toEqual([]);
  });

  it('A character that cannot be seen is one space inside an identifier if it is drawn as one, otherwise nothing', () => {
    const made = new Set(unseen.map((one) => visibleText(`E${one}1`)));
    expect(made).toEqual(new Set(['E 1', 'E1']));
    expect(visibleText('E\u00a0 \u20031')).toBe('E 1');
  });
});

describe('A text keeps', () => {
  it.each([
    ['Persian joiners', 'کتاب\u200cخانه'],
    ['an Arabic joiner at the end', 'ه\u200d'],
    ['Hindi joiners', 'क्\u200dष'],
    ['a family', '👨\u200d👩\u200d👧\u200d👦'],
    ['a selector at the end', 'Love ❤\ufe0f'],
    ['lines and tabs inside it', 'One\n\tTwo  three'],
  ])('A text keeps %s', (_, text) => {
    expect(trimmedText(text)).toBe(text);
    expect(trimmedText(` ${text}\u00a0\n`)).toBe(text);
  });

  it('A text keeps only the composed form of its letters', () => {
    expect(trimmedText('Cafe\u0301')).toBe('Café');
    expect(visibleText('Cafe\u0301')).toBe('Café');
  });
});

it('An identifier is in one composition, also where something invisible was between a letter and its accent', () => {
  expect(visibleText('Cafe\u200d\u0301')).toBe('Caf\u00e9');
});
