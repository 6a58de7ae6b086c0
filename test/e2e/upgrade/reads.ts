/** The questions that every later version must answer as the one that wrote the fixture did. */
import { a2a } from './agents.ts';
import type { Recorder } from './recorder.ts';

const AGENT = '/api/affiliate/v1';
const DESK = '/api/desk/v1';

/** Requests for outreach, one of each end, and the deliveries of review links. */
const OUTREACH = [
  'busy request',
  'refuses request',
  'loses request',
  'revised request',
  'expired request',
  'delivery',
  'automatic delivery',
];
/** Lists whose RFQ has an outcome; the first one has goods and a question. */
const LISTS = ['handoff-deal', 'handoff-lost', 'handoff-called-off'];

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
    ...['acme', 'dune', 'fern'].map((owner) => `${DESK}/outreach/${owner}`),
    ...OUTREACH.map((name) => `${DESK}/approvals/${ids[name]}`),
    ...LISTS.map((name) => `${DESK}/handoffs/${ids[name]}/rfq?owner_id=acme`),
    `${DESK}/people?limit=100`,
    `${DESK}/people/${ids['person']}`,
    `${DESK}/desk-tokens`,
    `${DESK}/products?limit=100`,
    `${DESK}/owners?limit=100`,
    `${DESK}/leads?limit=100`,
    `${DESK}/inbox`,
    `${DESK}/history?owner_id=acme&as_of=${position}&limit=100`,
    `${DESK}/audit/state?owner_id=dune&at=${position}&limit=100`,
    `${DESK}/audit/history?owner_id=fern&to=${position}&limit=100`,
    `${DESK}/audit/history?owner_id=desk&kind=auditState&to=${position}`,
    `${DESK}/audit/history?owner_id=acme&to=${position}&limit=100`,
    `${DESK}/audit/state?owner_id=acme&at=${position}&limit=100`,
    `${DESK}/audit/diff?owner_id=acme&from=1&to=${position}&limit=100`,
    `${DESK}/events?up_to=${position}&limit=100`,
    `${DESK}/events?owner_id=acme&up_to=${position}&limit=100`,
    `${DESK}/events?stream=acme-lead_${ids['won lead']?.slice(4)}&up_to=${position}`,
    `${DESK}/events?stream=acme-lead_${ids['erased lead']?.slice(4)}&up_to=${position}`,
  ],
  person: [`${DESK}/me`, `${DESK}/me/sessions`],
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
  await recorder.read('buyer: quotation', { method: 'GET', path: ids['quotation page'] ?? '' });
  for (const name of ['task', 'canceled task', 'pushed task'])
    await recorder.read(name, a2a('GetTask', { id: ids[name] }));
  await recorder.read('all tasks', a2a('ListTasks', { pageSize: 10 }));
  for (const name of ['notified task', 'pushed task']) {
    const configs = a2a('ListTaskPushNotificationConfigs', { taskId: ids[name] });
    await recorder.read(`receivers of ${name}`, configs);
  }
  return position;
};
