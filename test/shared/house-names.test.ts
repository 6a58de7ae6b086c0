import { describe, expect, it } from 'vitest';
import { looksLikeHouse } from '#src/shared/house-names.ts';

const ORIGIN = 'https://www.shop.example';

describe('A name looks like one of the service', () => {
  it.each([
    'staff',
    'STAFF',
    'st4ff',
    '5taff',
    'staff1',
    'Staff 24',
    'The Staff Team',
    's-t-a-f-f',
    'ѕtaff',
    'stаff',
    'ſtaff',
    'staƒƒ',
    'ＳＴＡＦＦ',
    '𝓼𝓽𝓪𝓯𝓯',
    'ꓢꓔAFF',
    'system',
    'systern',
    'Sуstem',
    'ⓢⓨⓢⓣⓔⓜ',
    'System support',
    'Tributary',
    'tr1butary',
    'TRlBUTARY',
    'Tríbutary',
    'Tr\u200dibutary',
    'ŧributary',
    'ᴛributary',
    'тributary',
    'tributαry',
    'TRIВUTАRУ',
    'The Tributary Shop Ltd',
    'tributarygifts',
    'admin',
    'desk',
    'catalog',
    'direct',
    'shop',
    'Shop Team',
    'shop.example',
    'Gifts of SHOP EXAMPLE',
  ])('A name looks like one of the service: %j', (name) => {
    expect(looksLikeHouse(name, ORIGIN)).toBe(true);
  });
});

describe('A name does not look like one of the service', () => {
  it.each([
    'acme',
    'northwind',
    'Staffordshire Gifts',
    'Staffa',
    'Staff Gifts',
    'Systemair',
    'System Cards Ltd',
    'Corner Shop',
    'Bishop',
    'Supportive Gifts',
    'Direct Gifts',
    'Newsletter agent',
    'Shop concierge',
    'Agent 7',
    '7 Seas',
    '№ 1',
    '用户',
  ])('A name does not look like one of the service: %j', (name) => {
    expect(looksLikeHouse(name, ORIGIN)).toBe(false);
  });

  it.each(['http://127.0.0.1:3000', 'http://[::1]:3000', 'https://t.example'])(
    'A name does not look like one of the service at %s, whose host is no name',
    (origin) => {
      for (const name of ['acme', 'mug', 'local', 't1', 'Best example', '127001'])
        expect(looksLikeHouse(name, origin)).toBe(false);
    },
  );
});
