/** Lists of three more buyers: a deal whose goods are shipped and come back in part, one that is lost, and one that is withdrawn. */
import { callTool } from './agents.ts';
import { press } from './buyers.ts';
import type { Recorder } from './recorder.ts';
import type { World } from './world.ts';

const DAN = 'dan@cafe.example';

/** Makes a list of mugs and candles. */
export const makeHandoff = async (
  recorder: Recorder,
  title: string,
  body: object = {},
): Promise<void> => {
  const { ids } = recorder;
  const line_items = [
    { sku: 'MUG-1', quantity: 48, note: 'for the window' },
    { sku: 'CAN-1', quantity: 6 },
  ];
  const made = await recorder.agent(title, '/handoffs', { title: 'Mugs', line_items, ...body });
  ids[title] = String(made['id']);
  ids[`${title} page`] = new URL(String(made['review_url'])).pathname;
};

/** Makes a list that its buyer sends as an RFQ, which is not confirmed yet. */
const sendList = async (recorder: Recorder, title: string, email: string): Promise<void> => {
  await makeHandoff(recorder, title);
  const fields = { list_revision: '1', name: 'Dan Buyer', email, consent: 'yes' };
  const path = recorder.ids[`${title} page`];
  await press(recorder, `buyer: send ${title}`, { path, button: 'send', fields });
};

const atRfq = (
  recorder: Recorder,
  { handoff, act, as = 'staff' }: { handoff: string; act: string; as?: string },
  body: object,
) => {
  const path = `/handoffs/${recorder.ids[handoff]}/rfq/${act.replace(/-.*/, '')}`;
  return recorder.desk(`${handoff}-${act}`, path, body, as);
};

/** Staff know two buyers otherwise, confirm their RFQs, and end them. Two other lists are revised and invalidated. */
export const endLists = async (recorder: Recorder): Promise<void> => {
  const { ids } = recorder;
  for (const to of ['lost', 'withdrawn']) {
    const handoff = `handoff-${to === 'lost' ? 'lost' : 'called-off'}`;
    await sendList(recorder, handoff, `${to}@cafe.example`);
    const known = { to: 'confirmed', reason: 'Called from the number of the shop' };
    await atRfq(recorder, { handoff, act: 'move-confirmed' }, known);
    await atRfq(recorder, { handoff, act: 'move-end' }, { to, reason: 'Bought elsewhere' });
  }
  await makeHandoff(recorder, 'handoff-invalid');
  const invalid = `/handoffs/${ids['handoff-invalid']}/invalidate`;
  await recorder.desk('invalidate', invalid, { owner_id: 'acme', reason: 'Wrong prices' });
  await makeHandoff(recorder, 'handoff-revised');
  await callTool(recorder, 'revise_handoff', {
    idempotency_key: 'revise-handoff',
    handoff_id: ids['handoff-revised'],
    title: 'More mugs',
    line_items: [{ sku: 'MUG-1', quantity: 96 }],
  });
};

/** The buyer declines the first quotation, asks about the second one, and agrees to it; staff win the RFQ. */
export const closeDeal = async (recorder: Recorder, { mailedLink }: World): Promise<void> => {
  const { ids } = recorder;
  const handoff = 'handoff-deal';
  await sendList(recorder, handoff, DAN);
  const path = await mailedLink('rfq', DAN);
  const fields = { list_revision: '1' };
  await press(recorder, 'dan: confirm', { path, button: 'confirm', fields });
  const quote = async (number: number, more: object): Promise<[path: string, hash: string]> => {
    const act = `quote-${number}`;
    await atRfq(recorder, { handoff, act }, { valid_until: '2099-01-01T00:00:00Z', ...more });
    const page = await mailedLink('quotation', DAN, number);
    const { body } = await recorder.act('dan: quotation', { method: 'GET', path: page });
    return [page, /name="hash" value="(\w+)"/.exec(body)?.[1] ?? ''];
  };
  const [first, firstHash] = await quote(1, {});
  await press(recorder, 'dan: decline', {
    path: first,
    button: 'decline',
    fields: { hash: firstHash, reason: 'Too dear' },
  });
  const charges = [{ label: 'Shipping', amount: 900, currency: 'GBP' }];
  const [second, hash] = await quote(2, { replaces: 1, charges });
  ids['quotation page'] = second;
  const question = { question: '1', text: 'Are the mugs fit for a dishwasher?' };
  await press(recorder, 'dan: ask', { path: second, button: 'ask', fields: question });
  await atRfq(recorder, { handoff, act: 'answer-1' }, { question: 1, answer: 'Yes, all of them.' });
  await press(recorder, 'dan: agree', { path: second, button: 'agree', fields: { hash } });
  await atRfq(recorder, { handoff, act: 'move-won' }, { to: 'won' });
};

/** The mugs are shipped in part, and two come back, which another person approves. The candles are cancelled. */
export const moveGoods = async (recorder: Recorder): Promise<void> => {
  const act = (name: string, body: object, as = 'first') =>
    atRfq(recorder, { handoff: 'handoff-deal', act: name, as }, body);
  await act('allocate', { lines: [{ line_id: '1', source: 'Shelf B-12' }, { line_id: '2' }] });
  const parcel = { carrier: 'Royal Mail', reference: 'RM 4711' };
  await act('ship', { lines: [{ line_id: '1', quantity: 30 }], ...parcel });
  await act('deliver', { shipment: 1 });
  await act('cancel', { lines: [{ line_id: '2' }], reason: 'The wax melted' });
  await act('return', { lines: [{ line_id: '1', quantity: 2 }], reason: 'Broken on the way' });
  await act('approve', { proposal: 1 }, 'second');
};
