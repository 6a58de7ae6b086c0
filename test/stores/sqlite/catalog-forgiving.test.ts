/** What a search forgives: unknown words, letters of other alphabets, spellings of names, and filters that leave nothing. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Catalog, FacetField, ProductHits, ProductSearch } from '#src/ports/catalog.ts';
import { foldText, isWithinCategory, splitWords } from '#src/ports/folded-text.ts';
import { sqliteCatalog } from '#src/stores/sqlite/catalog/catalog.ts';
import type { Content } from '../../support/world/products.ts';
import { content, history } from '../../support/world/products.ts';

const catalogWith = (...products: Content[]): Catalog => {
  const { events, publish } = history();
  for (const product of products) publish(product);
  const catalog = sqliteCatalog(':memory:');
  catalog.apply(events, events.length);
  return catalog;
};

const find = (catalog: Catalog, over: Partial<ProductSearch>): ProductHits =>
  catalog.search({ sort: 'relevance', limit: 100, offset: 0, facets: [], ...over });

const keysOf = ({ products }: ProductHits): string[] =>
  products.map(({ product_id }) => product_id.slice(4)).sort();

describe('Folding', () => {
  const LETTERS = Array.from({ length: 0x2000 - 0xaa }, (_, at) => String.fromCodePoint(at + 0xaa));
  const latin = LETTERS.filter(
    (letter) => /\p{Script=Latin}/u.test(letter) && /\p{L}/u.test(letter),
  );
  const base = new Intl.Collator('en', { sensitivity: 'base', usage: 'search' });
  const ascii = Array.from('abcdefghijklmnopqrstuvwxyz');
  const plain = ascii.flatMap((one) => [one, ...ascii.map((other) => one + other)]);

  test('Every Latin letter that Unicode collates with plain letters folds to these', () => {
    const equal = latin.flatMap((letter) => {
      const folded = foldText(letter);
      if (!/^[a-z]+$/.test(folded)) return [];
      const same = plain.find((text) => base.compare(text, letter) === 0);
      return same === undefined || same === folded ? [] : [`${letter}: ${folded}, not ${same}`];
    });
    expect(equal).toEqual([]);
  });

  test('The letters of every European alphabet and of the African reference alphabet fold to plain ones', () => {
    const used = latin.filter((letter) => {
      const code = letter.codePointAt(0) ?? 0;
      return code < 0x180 || (code >= 0x1e00 && code < 0x1f00 && !/[ẚẟ]/.test(letter));
    });
    const others = 'ƀƁƂƇƉƊƋƐƑƒƓƖƗƘƙƝƤƬƮƱƲƳƴƵƶƎƏǝǤǥȘȚəɓɖɗɛɣɨɩɔʉʊʋɵ';
    const odd = [...used, ...Array.from(others)].filter(
      (letter) => !/^[a-z]+·?$/.test(foldText(letter)),
    );
    expect(odd).toEqual([]);
  });

  test('A folded text does not change when it is folded again, in any case', () => {
    for (const letter of LETTERS) {
      const folded = foldText(letter);
      expect([letter, foldText(folded)]).toEqual([letter, folded]);
      if (/\p{Script=Latin}/u.test(letter))
        expect([letter, foldText(letter.toLowerCase())]).toEqual([letter, folded]);
    }
  });

  test.each([
    ['Weiße Schüssel', 'weisse schussel'],
    ['Rød grød med fløde', 'rod grod med flode'],
    ['Œuf en gelée', 'oeuf en gelee'],
    ['Ǿre Ærø Ǽ', 'ore aero ae'],
    ['Đorđe Łukasz Ħamrun Ŧuva', 'dorde lukasz hamrun tuva'],
    ['Þórr Ðalvík', 'thorr dalvik'],
    ['ĳsbeker ǆep ﬁnfl', 'ijsbeker dzep finfl'],
    ['Kapı ılık İstanbul', 'kapi ilik istanbul'],
    ['ŉ paral·lel', 'n parallel'],
    ['Ŋgɔ ɓala Ɗan ƙasa', 'ngo bala dan kasa'],
    ['ΟΔΟΣ', 'οδοσ'],
  ])('The words of %s are %s', (text, words) => {
    expect(splitWords(text).join(' ')).toBe(words);
    expect(splitWords(text.normalize('NFD')).join(' ')).toBe(words);
  });
});

describe('Relaxing', () => {
  const shop = catalogWith(
    content('mug', {
      title: 'Speckled Stoneware Mug',
      category: 'Kitchen',
      description: 'For your table',
    }),
    content('cup', { title: 'Porcelain Cup', category: 'Cafes', description: 'Made to last' }),
    content('vase', { title: 'Glass Vase', category: 'Home', description: 'For cut flowers' }),
  );

  test.each([
    ['stoneware mugs for cafes', ['mug'], ['cafes']],
    ['stoneware mug xyzzy qwert', ['mug'], ['xyzzy', 'qwert']],
    // Titles before categories, categories before descriptions, and equal ones as they are typed.
    ['flowers cafes stoneware', ['mug'], ['flowers', 'cafes']],
    ['flowers cafes', ['cup'], ['flowers']],
    ['vase cup', ['vase'], ['cup']],
    ['cup vase', ['cup'], ['vase']],
    // A word that does not fit does not take those after it with it.
    ['vase stoneware glass', ['vase'], ['stoneware']],
    ['stoneware mug', ['mug'], []],
    ['xyzzy qwert', [], []],
    ['***', [], []],
  ])('A search for %j finds %j without %j', (q, keys, relaxed) => {
    const hits = find(shop, { q });
    expect([keysOf(hits), hits.relaxed ?? []]).toEqual([keys, relaxed]);
  });

  test('At least one product has all words that a search keeps, and only such products are found', () => {
    const word = fc.constantFrom(
      ...'speckled mug cup glass for table made cafes home xy zz'.split(' '),
    );
    fc.assert(
      fc.property(fc.uniqueArray(word, { minLength: 1, maxLength: 5 }), (words) => {
        const { total, relaxed = [] } = find(shop, { q: words.join(' ') });
        const kept = words.filter((one) => !relaxed.includes(one));
        expect(total).toBe(find(shop, { q: kept.join(' ') }).total);
        const known = words.filter((one) => find(shop, { q: one }).total > 0);
        expect(total > 0).toBe(known.length > 0);
        for (const left of relaxed)
          expect(find(shop, { q: [...kept, left].join(' ') }).relaxed).toEqual([left]);
      }),
    );
  });

  test.each(['relevance', 'price'] as const)(
    'Later pages by %s leave out the same words, whatever has changed',
    (sort) => {
      const { events, publish } = history();
      for (let n = 0; n < 6; n += 1) publish(content(`m${n}`, { title: 'Stoneware Mug' }));
      publish(content('tray', { title: 'Oak Tray' }));
      const catalog = sqliteCatalog(':memory:');
      catalog.apply(events, events.length);
      const q = 'stoneware oak mug';
      const first = find(catalog, { q, sort, limit: 2 });
      expect([first.total, first.relaxed]).toEqual([6, ['oak']]);
      const before = events.length;
      publish(content('new', { title: 'Stoneware Oak Mug' }));
      catalog.apply(events.slice(before), events.length);
      expect(keysOf(find(catalog, { q }))).toEqual(['new']);
      const pages = [first];
      for (let { last } = first; last; last = pages.at(-1)?.last)
        pages.push(find(catalog, { q, sort, limit: 2, after: last }));
      expect(pages.map(({ relaxed }) => relaxed)).toEqual(pages.map(() => ['oak']));
      const found = pages.flatMap((page) => keysOf(page)).filter((key) => key !== 'new');
      expect(found.sort()).toEqual(['m0', 'm1', 'm2', 'm3', 'm4', 'm5']);
    },
  );
});

describe('Names', () => {
  const names = [
    'Kitchen',
    'kitchen',
    'KITCHEN > Mugs',
    'Kitchen>mugs',
    'Kitchen > Mugs > Large',
    'Mugs',
  ];
  const certifications = ['FSC', 'fsc', 'Food Safe', 'OEKO-TEX'];
  const arbitrary = fc.record({
    category: fc.constantFrom(...names),
    brand: fc.constantFrom(undefined, 'Café Zoë', 'CAFE ZOE', 'Bo'),
    certifications: fc.constantFrom(
      undefined,
      ...certifications.map((one) => [one]),
      ['FSC', 'Food Safe'],
      ['FSC', 'fsc'],
    ),
    lead_time_days: fc.constantFrom(undefined, 0, 4, 5, 31),
    currency: fc.constantFrom('GBP', 'EUR'),
    unit_price: fc.constantFrom(0, 99, 100, 250, 5_000_000_000),
  });
  const filterOf = (field: string, value: string): Partial<ProductSearch> => {
    const [currency = '', range = ''] = value.split(' ');
    const [price_min = 0, price_max = 0] = range.split('-').map(Number);
    switch (field as FacetField) {
      case 'certifications':
        return { certifications: [value] };
      case 'lead_time':
        return { lead_time_max_days: Number(value) };
      case 'price':
        return { currency, price_min, ...(range.endsWith('-') ? {} : { price_max }) };
      default:
        return { [field]: value };
    }
  };
  const swapped = (text: string): string =>
    Array.from(text, (one) =>
      one === one.toLowerCase() ? one.toUpperCase() : one.toLowerCase(),
    ).join('');

  test('Every value of a facet, in any case, is a filter that finds as many products as the facet says', () => {
    const facets: FacetField[] = ['category', 'brand', 'certifications', 'lead_time', 'price'];
    fc.assert(
      fc.property(fc.array(arbitrary, { minLength: 1, maxLength: 12 }), (made) => {
        const catalog = catalogWith(
          ...made.map(({ unit_price, ...rest }, index) => {
            const set = Object.entries(rest).filter(([, value]) => value !== undefined);
            const price_tiers = [{ min_quantity: 1, unit_price }];
            return { ...content(`${index}`), ...Object.fromEntries(set), price_tiers };
          }),
        );
        const all = find(catalog, { facets });
        for (const { field, values } of all.facets) {
          const folded = values.map(({ value }) => foldText(value));
          expect(new Set(folded).size).toBe(values.length);
          for (const { value, count } of values) {
            const text = ['category', 'brand', 'certifications'].includes(field);
            for (const spelled of text ? [value, swapped(value), ` ${value}  `] : [value])
              expect([field, spelled, find(catalog, filterOf(field, spelled)).total]).toEqual([
                field,
                spelled,
                count,
              ]);
          }
        }
        for (const { category } of all.products)
          for (const name of [category, 'Kitchen'].filter((one) => catalog.categoryNamed(one)))
            expect(keysOf(find(catalog, { category: name }))).toEqual(
              keysOf({
                ...all,
                products: all.products.filter((one) => isWithinCategory(name)(one.category)),
              }),
            );
      }),
      { numRuns: 60 },
    );
  });

  test('A category is shown as most products spell it, also when it has only subcategories', () => {
    const catalog = catalogWith(
      content('a', { category: 'Kitchen > Mugs' }),
      content('b', { category: 'KITCHEN > Mugs' }),
      content('c', { category: 'Kitchen > Pans' }),
      content('d', { category: 'Garden' }),
    );
    expect(
      ['kitchen', ' KITCHEN>mugs ', 'garden', 'Mugs'].map((one) => catalog.categoryNamed(one)),
    ).toEqual(['Kitchen', 'KITCHEN > Mugs', 'Garden', undefined]);
    expect(catalog.namesOf('category')).toEqual([
      'Kitchen',
      'KITCHEN > Mugs',
      'Kitchen > Pans',
      'Garden',
    ]);
  });

  test('A search finds a product by its certifications, and only products that have all of them', () => {
    const catalog = catalogWith(
      content('a', { certifications: ['FSC', 'Food safe'] }),
      content('b', { certifications: ['FSC'] }),
      content('c'),
    );
    expect(keysOf(find(catalog, { certifications: ['fsc', 'FOOD SAFE'] }))).toEqual(['a']);
    expect(keysOf(find(catalog, { q: 'food safe' }))).toEqual(['a']);
  });
});

describe('Filters that leave nothing', () => {
  const shop = catalogWith(
    content('mug', { title: 'Mug', category: 'Kitchen', ship_from: 'GB', certifications: ['FSC'] }),
    content('cup', { title: 'Cup', category: 'Home', ship_from: 'DE' }),
  );
  test.each<[string, Partial<ProductSearch>, [string, number][] | undefined]>([
    ['one filter', { q: 'mug', ship_from: 'FR' }, [['ship_from', 1]]],
    [
      'a filter that fits only others',
      { ship_from: 'DE', certifications: ['FSC'] },
      [
        ['certifications', 1],
        ['ship_from', 1],
      ],
    ],
    [
      'two filters',
      { q: 'mug', ship_from: 'FR', moq_max: 1, lead_time_max_days: 0 },
      [
        ['ship_from', 0],
        ['lead_time_max_days', 0],
      ],
    ],
    ['words', { q: 'xyzzy', ship_from: 'GB' }, [['q', 1]]],
    ['a price', { currency: 'GBP', price_max: 0 }, [['price_max', 2]]],
    ['an id', { ids: ['prd_x'] }, [['ids', 2]]],
    ['no filter', { q: 'mug' }, undefined],
  ])('A search that finds nothing names %s', (_, query, expected) => {
    const { total, excluded_by } = find(shop, query);
    expect(excluded_by?.map(({ filter, total_without }) => [filter, total_without])).toEqual(
      expected,
    );
    expect(total).toBe(expected ? 0 : 1);
  });

  test('A search in an empty catalog names no filter', () => {
    expect(find(catalogWith(), { ship_from: 'GB' }).excluded_by).toBeUndefined();
  });
});
