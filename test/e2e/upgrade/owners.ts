import { type MailedLinks, pressMailed } from './buyers.ts';
import type { Recorder } from './recorder.ts';

/** Sets a profile, whose mailbox its holder confirms. */
export const confirmMailbox = async (
  recorder: Recorder,
  mailedLinks: MailedLinks,
): Promise<void> => {
  const profile = { name: 'Brook', postal_address: '2 High Street', mailbox: 'ben@brook.example' };
  await recorder.desk('profile-brook', '/owners/brook/profile', profile);
  const path = (await mailedLinks('mailbox')).at(-1);
  await pressMailed(recorder, 'owner: confirm', { path, button: 'confirm' });
};

const APPLICATION = {
  name: 'Delta Gifts',
  postal_address: '4 High Street',
  mailbox: 'dora@delta.example',
  owner_id: 'delta',
  agent_name: 'Finder',
  purpose: 'Finds gifts for our shop',
  scopes: 'products:read',
};

/** One application leads to a key, and another one waits for its confirmation. */
export const applyInPublic = async (
  recorder: Recorder,
  mailedLinks: MailedLinks,
  settled: () => Promise<void>,
): Promise<void> => {
  const apply = (over: object = {}) =>
    recorder.act('apply', {
      method: 'POST',
      path: '/apply',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ ...APPLICATION, ...over }).toString(),
    });
  await apply();
  const path = (await mailedLinks('apply')).at(-1);
  await pressMailed(recorder, 'apply: confirm', {
    path,
    button: 'confirm',
    body: 'owner_id=delta',
  });
  await settled();
  const asked = '/api/desk/v1/access-requests?owner_id=delta';
  const { body } = await recorder.act('requests', { method: 'GET', path: asked, as: 'staff' });
  const [request] = (JSON.parse(body) as { data: { agent_id: string }[] }).data;
  const approval = { reason: 'Known shop' };
  await recorder.desk('approve-delta', `/agents/${request?.agent_id}/approve`, approval);
  await settled();
  await pressMailed(recorder, 'apply: key', { path, button: 'key' });
  await apply({ owner_id: 'echo', mailbox: 'emil@echo.example' });
};
