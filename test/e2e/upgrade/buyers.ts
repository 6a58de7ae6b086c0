/** What buyers do in the story: the review page, the link in the mail, and a list of a visitor. */
import type { Recorder } from './recorder.ts';

const BUYER = { name: 'Bea Buyer', email: 'bea@shop.example', consent: 'yes' };
export const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const VISITOR = BROWSER.replaceAll('140.0', '141.0');

/** `mailedLinks` resolves to the paths of the links in the mail to buyers, the newest last, once there is one. */
export const buyersAct = async (
  recorder: Recorder,
  mailedLinks: () => Promise<readonly string[]>,
): Promise<void> => {
  const submit = (page: string, button: string, fields: Record<string, string>) =>
    recorder.act(`buyer: ${button}`, {
      method: 'POST',
      path: `${recorder.ids[page]}/${button}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'user-agent': BROWSER },
      body: new URLSearchParams(fields).toString(),
    });
  await submit('handoff-sent page', 'open', {});
  const changed = { list_revision: '1', 'quantity.1': '60', 'quantity.2': '6' };
  await submit('handoff-sent page', 'quantities', changed);
  await submit('handoff-sent page', 'send', { ...changed, list_revision: '2', ...BUYER });
  await confirmRfq(recorder, mailedLinks);
  // The list of an RFQ that is not confirmed is closed with it.
  await submit('handoff-declined page', 'send', { list_revision: '1', ...BUYER });
  await submit('handoff-declined page', 'decline', { list_revision: '1', reason: 'Too many mugs' });
};

/** Presses the button behind the link that the buyer got by mail. */
const confirmRfq = async (
  recorder: Recorder,
  mailedLinks: () => Promise<readonly string[]>,
): Promise<void> => {
  const path = (await mailedLinks()).at(-1) ?? '';
  await recorder.act('buyer: confirm', {
    method: 'POST',
    path: `${path}/confirm`,
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'user-agent': BROWSER },
    body: 'list_revision=2',
  });
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
