/** Lists whose link the service mails: one that the owner approves, and one to the mailbox of an accepted lead. */
import { decideOn } from './outreach.ts';
import type { Json, Recorder } from './recorder.ts';
import type { World } from './world.ts';

const create = async (recorder: Recorder, title: string, email: string): Promise<string> => {
  const line_items = [{ sku: 'MUG-1', quantity: 48 }];
  const body = { title: 'Mugs for you', buyer: { email }, line_items, deliver: true };
  const made = await recorder.agent(title, '/handoffs', body);
  return String((made['delivery'] as Json)['outbound_id']);
};

export const deliverLists = async (recorder: Recorder, world: World): Promise<void> => {
  const { ids } = recorder;
  const asked = await create(recorder, 'deliver-asked', 'gia@bistro.example');
  ids['delivery'] = asked;
  const path = `/api/desk/v1/approvals/${asked}`;
  const { body } = await recorder.act('delivery', { method: 'GET', path, as: 'owner' });
  const { request } = JSON.parse(body) as { request: Json };
  const how_asked = 'By telephone on Monday';
  await decideOn(recorder, request, { verb: 'approve', as: 'owner', how_asked });
  await world.reached(asked, 'confirmed');
  const perDay = '/outreach/acme/automatic-delivery';
  await recorder.desk('automatic-delivery', perDay, { per_day: 5 }, 'owner');
  // Its lead was accepted, with consent.
  const automatic = await create(recorder, 'deliver-automatic', 'ada@cornershop.example');
  ids['automatic delivery'] = automatic;
  await world.reached(automatic, 'confirmed');
};
