/** What buyers do in the story: the review page, the link in the mail, and a list of a visitor. */
import type { Answer } from './exchange.ts';
import type { Recorder } from './recorder.ts';
import type { World } from './world.ts';

const BUYER = { name: 'Bea Buyer', email: 'bea@shop.example', consent: 'yes' };
export const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const VISITOR = BROWSER.replaceAll('140.0', '141.0');

/** Presses a button of a page that has no session: of a review link, or of a mailed link. */
export const press = (
  recorder: Recorder,
  title: string,
  {
    path,
    button,
    fields = {},
  }: { path: string | undefined; button: string; fields?: Record<string, string> },
): Promise<Answer> =>
  recorder.act(title, {
    method: 'POST',
    path: `${path}/${button}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'user-agent': BROWSER },
    body: new URLSearchParams(fields).toString(),
  });

export const buyersAct = async (recorder: Recorder, { mailedLink }: World): Promise<void> => {
  const submit = (page: string, button: string, fields: Record<string, string>) =>
    press(recorder, `buyer: ${button}`, { path: recorder.ids[page], button, fields });
  await submit('handoff-sent page', 'open', {});
  const changed = { list_revision: '1', 'quantity.1': '60', 'quantity.2': '6' };
  await submit('handoff-sent page', 'quantities', changed);
  await submit('handoff-sent page', 'send', { ...changed, list_revision: '2', ...BUYER });
  const path = await mailedLink('rfq', BUYER.email);
  await press(recorder, 'buyer: confirm', {
    path,
    button: 'confirm',
    fields: { list_revision: '2' },
  });
  // One line is removed and put back, and one of a product is added.
  const declined = (button: string, list_revision: number, fields: Record<string, string>) =>
    submit('handoff-declined page', button, { list_revision: String(list_revision), ...fields });
  await declined('quantities', 1, { 'quantity.2': '0' });
  const { body } = await declined('search', 2, { q: 'MUG-2' });
  await declined('quantities', 2, { restore: '2' });
  await declined('quantities', 3, { add: /name="add" value="(\w+)"/.exec(body)?.[1] ?? '' });
  // The list of an RFQ that is not confirmed is closed with it.
  await declined('send', 4, BUYER);
  await declined('decline', 4, { reason: 'Too many mugs' });
};

/** Follows a link, and makes a list of the product on the page that it leads to. */
export const makeList = async (recorder: Recorder): Promise<void> => {
  const headers = { 'user-agent': VISITOR };
  const path = recorder.ids['short path'] ?? '';
  const { headers: followed } = await recorder.act('visit', { method: 'GET', path, headers });
  const { pathname, searchParams } = new URL(followed['location'] ?? '');
  const product = pathname.slice(pathname.indexOf('prd_') + 'prd_'.length);
  const attribution = searchParams.get('attribution') ?? '';
  const fields = { list: `${product}~12`, once: 'upgradeFixtureListOne1', attribution };
  await recorder.act('list', {
    method: 'POST',
    path: '/h',
    headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  });
};
