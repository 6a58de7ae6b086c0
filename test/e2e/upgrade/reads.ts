/** The questions that every later version must answer as the one that wrote the fixture did. */
import type { Asked } from './exchange.ts';
import type { Recorder } from './recorder.ts';

const AGENT = '/api/affiliate/v1';
const DESK = '/api/desk/v1';
const A2A = '/api/affiliate/a2a';

const rpc = (method: string, params: object): Asked => ({
  method: 'POST',
  path: A2A,
  as: 'acme',
  headers: { 'a2a-version': '1.0' },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
});

/** Paths by the name of the credential that reads them. */
const pathsOf = (ids: Record<string, string>, position: number): Record<string, string[]> => ({
  acme: [
    `${AGENT}/connection`,
    `${AGENT}/products?q=mug&at_quantity=48&facets=category`,
    `${AGENT}/products?q=candle`,
    `${AGENT}/leads?limit=100`,
    `${AGENT}/leads?external_id=crm-erased`,
    `${AGENT}/leads?external_id=crm-pia`,
    `${AGENT}/leads?external_id=crm-pia-again`,
    `${AGENT}/performance?granularity=day&group_by=campaign`,
    `${AGENT}/performance?granularity=total&as_of=${position}`,
  ],
  brook: [`${AGENT}/connection`, `${AGENT}/products?q=mug`],
  staff: [
    `${DESK}/agents?owner_id=acme`,
    `${DESK}/agents?owner_id=brook`,
    `${DESK}/keys?owner_id=acme`,
    `${DESK}/links?owner_id=acme&limit=100`,
    `${DESK}/handoffs?owner_id=acme&limit=100`,
    `${DESK}/handoffs/${ids['handoff-sent']}/rfq?owner_id=acme`,
    `${DESK}/rfqs?to=2099-01-01T00:00:00Z`,
    `${DESK}/access-requests`,
    `${DESK}/plans/${ids['reopened lead']}`,
    `${DESK}/owners/acme/profile`,
    `${DESK}/approvals`,
    `${DESK}/approvals/${ids['sent request']}`,
    `${DESK}/outreach/acme`,
    `${DESK}/history?owner_id=acme&as_of=${position}&limit=100`,
    `${DESK}/audit/history?owner_id=desk&kind=auditState&to=${position}`,
    `${DESK}/audit/history?owner_id=acme&to=${position}&limit=100`,
    `${DESK}/audit/state?owner_id=acme&at=${position}&limit=100`,
    `${DESK}/audit/diff?owner_id=acme&from=1&to=${position}&limit=100`,
    `${DESK}/events?up_to=${position}&limit=100`,
    `${DESK}/events?owner_id=acme&up_to=${position}&limit=100`,
    `${DESK}/events?stream=acme-lead_${ids['won lead']?.slice(4)}&up_to=${position}`,
    `${DESK}/events?stream=acme-lead_${ids['erased lead']?.slice(4)}&up_to=${position}`,
  ],
  owner: [`${DESK}/links?owner_id=acme`, `${DESK}/agents?owner_id=brook`],
});

/** Records all reads; answers the position of the last event before the first of them. */
export const readEverything = async (recorder: Recorder): Promise<number> => {
  const { ids } = recorder;
  const last = await recorder.send({ method: 'GET', path: `${DESK}/events?last=1`, as: 'staff' });
  const { head: position } = JSON.parse(last.body) as { head: number };
  for (const [as, paths] of Object.entries(pathsOf(ids, position)))
    for (const path of paths) await recorder.read(`${as}: ${path}`, { method: 'GET', path, as });
  for (const name of ['sent', 'declined', 'withdrawn', 'open']) {
    const path = ids[`handoff-${name} page`] ?? '';
    await recorder.read(`buyer: handoff-${name}`, { method: 'GET', path });
  }
  await recorder.read('a task', rpc('GetTask', { id: ids['task'] }));
  await recorder.read('all tasks', rpc('ListTasks', { pageSize: 10 }));
  const notified = { taskId: ids['notified task'] };
  await recorder.read('receivers', rpc('ListTaskPushNotificationConfigs', notified));
  return position;
};
