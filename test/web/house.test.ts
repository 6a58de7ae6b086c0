/** Who sells: on the pages of buyers and visitors, in every letter, and at the start. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readConfig } from '#src/config.ts';
import { renderLetter } from '#src/interfaces/letters.ts';
import { MAIL_KINDS, type MailKind } from '#src/sending/mail.ts';
import { settled } from '../support/world/browsing.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { confirmationPath } from '../support/world/confirmation.ts';
import { LETTER_FACTS } from '../support/world/letters.ts';
import { BROWSER, createShortLink } from '../support/world/links.ts';
import { CONTACT, reviews } from '../support/world/reviews.ts';

const HOUSE = {
  HOUSE_NAME: 'Müller & Söhne <KG>',
  HOUSE_ADDRESS: '1 Quay Street, Whitby',
  HOUSE_MAILBOX: 'sales@house.example',
  HOUSE_PHONE: '+44 1904 496 0000',
  HOUSE_VAT_NUMBER: 'GB 123 4567 89',
  PRICES_INCLUDE: 'vat',
  ANSWER_DAYS: '2',
};
const SOLD_BY =
  'Sold by Müller & Söhne <KG>, 1 Quay Street, Whitby. Questions: sales@house.example. Telephone +44 1904 496 0000. VAT number GB 123 4567 89.';
const TERMS = 'Prices include VAT, but not delivery. Staff answer within 2 working days.';
const SOLD_BY_HTML = SOLD_BY.replace('&', '&amp;').replace('<KG>', '&lt;KG&gt;');

let app: TestApp;
let key: string;

beforeAll(async () => {
  app = await testApp(HOUSE);
  ({ key } = await app.agent('acme'));
  await app.publish([feedProduct('MUG-1'), feedProduct('MUG-2')]);
  await app.desk('POST', '/owners/acme/profile', {
    name: 'Acme Promotions Ltd',
    postal_address: '1 High Street',
    mailbox: 'office@acme.example',
  });
});
afterAll(() => app.close());

const { handoff, get, post } = reviews({ app: () => app, key: () => key });

it('Each page of buyers and visitors says who sells, what prices include and when staff answer', async () => {
  const { id, path } = await handoff();
  await post(`${path}/send`, { list_revision: '1', ...CONTACT });
  const request = await confirmationPath(app, { id });
  const { product_id } = [...app.service.deps.catalog.bySku(['MUG-1']).values()][0] ?? {};
  const paths = [
    '/',
    '/s',
    '/s?q=mug',
    '/c/Gifts',
    '/list',
    `/p/${product_id}`,
    path,
    request,
    '/h/0000',
    '/p/prd_none',
    '/privacy',
  ];
  for (const one of paths) {
    const { text } = await get(one, { accept: 'text/html' });
    expect(text, one).toContain(SOLD_BY_HTML);
    expect(text, one).toContain(TERMS);
  }
});

it('Pages name the promoter by its profile, and by its short name once that is gone', async () => {
  const { path } = await handoff();
  const { code } = await createShortLink(app, key);
  const { headers } = await app.send({
    method: 'GET',
    url: `/l/${code}`,
    headers: { 'user-agent': BROWSER },
  });
  const landing = (headers['location'] ?? '').replace('https://t.example', '');
  for (const page of [path, landing])
    expect((await get(page)).text).toContain('<strong>Acme Promotions Ltd</strong>');
  await app.desk('POST', '/owners/acme/profile/remove', { reason: 'gone' });
  await settled(app);
  for (const page of [path, landing])
    expect((await get(page)).text).toContain('<strong>acme</strong>');
});

it.each(Object.keys(MAIL_KINDS) as MailKind[])('The letter %s says who sells', async (kind) => {
  const { house } = app.service.deps;
  const { text, html } = await renderLetter(kind, LETTER_FACTS[kind], {
    origin: 'https://t.example',
    house,
  });
  expect(text).toContain(SOLD_BY);
  expect(html).toContain(SOLD_BY_HTML);
});

it('Mail is from the name of the seller', async () => {
  const { path } = await handoff();
  await post(`${path}/send`, { list_revision: '1', ...CONTACT, email: 'ann@shop.example' });
  app.service.dispatcher.start();
  await settled(app);
  const directory = join(app.directory, 'mail');
  const [file = ''] = readdirSync(directory);
  const { from } = await PostalMime.parse(readFileSync(join(directory, file)));
  expect(from).toMatchObject({ name: HOUSE.HOUSE_NAME, address: 'tributary@localhost' });
});

it('The settings say which are missing, and that the name is needed with the others', () => {
  expect(readConfig(HOUSE).houseUnsaid).toEqual([]);
  expect(readConfig({}).houseUnsaid).toEqual(Object.keys(HOUSE));
  expect(() => readConfig({ HOUSE_PHONE: '1' })).toThrow(
    'HOUSE_NAME: is required with HOUSE_PHONE',
  );
  expect(() => readConfig({ ...HOUSE, PRICES_INCLUDE: 'tax' })).toThrow(
    'PRICES_INCLUDE: must be nothing, vat, delivery or both',
  );
  expect(() => readConfig({ ...HOUSE, HOUSE_NAME: 'a\r\nBcc: x' })).toThrow('one line');
});
