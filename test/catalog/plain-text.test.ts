/** What shops export as HTML is read as people see it, and nothing else changes. */
import { describe, expect, it } from 'vitest';
import { decoded, plainLine, plainText } from '#contracts/catalog/plain-text.ts';

describe('An entity', () => {
  it('An entity of every character beyond ASCII is decoded by its number, in both forms', () => {
    for (let code = 0xa1; code <= 0xffff; code += 1) {
      if (code >= 0xd800 && code <= 0xdfff) continue;
      const character = String.fromCodePoint(code);
      expect([decoded(`&#${code};`), decoded(`&#x${code.toString(16)};`)]).toEqual([
        character,
        character,
      ]);
    }
  });

  it.each([
    ['Tea &amp; Coffee', 'Tea & Coffee'],
    ['Tea &amp;amp; Coffee', 'Tea & Coffee'],
    ['caf&eacute; &Uuml;ber &szlig; &ntilde; &yuml;', 'café Über ß ñ ÿ'],
    ['12&quot; &lsquo;plate&rsquo; &ndash; 5&deg; &euro;3 &trade;', '12" ‘plate’ – 5° €3 ™'],
    ['&frac12; &times; &sup2; &reg;', '½ × ² ®'],
    [
      'A&B, AT&T; &unknown; &#0; &#55296; &#99999999; & &;',
      'A&B, AT&T; &unknown; &#0; &#55296; &#99999999; & &;',
    ],
  ])('A text with entities, %s, is read as %s', (text, expected) => {
    expect(plainLine(text)).toBe(expected);
  });
});

describe('A tag', () => {
  it.each([
    ['<b>Mug</b> <i class="x">blue</i>', 'Mug blue'],
    ['Mug<br>blue<br/>red<BR />green', 'Mug blue red green'],
    ['&lt;strong&gt;Mug&lt;/strong&gt;', 'Mug'],
    ['Mug<!-- note --><script>alert(1)</script><style>p{}</style>', 'Mug'],
    ['<![CDATA[Mug & cup]]>', 'Mug & cup'],
    ['Hose <5 cm, size <S>, 3 < 4 > 2, <abc> a<b', 'Hose <5 cm, size <S>, 3 < 4 > 2, <abc> a<b'],
  ])('A tag is removed from a line: %s', (text, expected) => {
    expect(plainLine(text)).toBe(expected);
  });

  it('A tag that begins a line begins one in a description', () => {
    expect(plainText('<p>One</p><p>Two</p><ul><li>a</li><li>b</li></ul>')).toBe(
      'One\n\nTwo\n\na\n\nb',
    );
    expect(plainText('One\nTwo\n\n\n\nThree')).toBe('One\nTwo\n\n\n\nThree');
  });

  it('The removal of tags and entities takes linear time in any text', () => {
    for (const part of ['<script>', '<!--', '<b ', '&amp;', '<', ']]>'])
      expect(plainText(part.repeat(200_000)).length).toBeGreaterThanOrEqual(0);
  });
});
