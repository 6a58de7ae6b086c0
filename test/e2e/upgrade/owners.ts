/** Owners of the story: their agents and mailboxes, and those who apply in public. */
import { press } from './buyers.ts';
import { idOf, type Json, type Recorder } from './recorder.ts';
import type { World } from './world.ts';

/** Grants an agent of the owner access, and issues its key. Resolves to the ids of both. */
export const grantAccess = async (
  recorder: Recorder,
  owner_id: string,
  scopes: readonly string[],
): Promise<{ agent: string; key: string }> => {
  const access = { owner_id, name: `Agent of ${owner_id}`, purpose: 'Our letter', scopes };
  const granted = { ...access, reason: 'Known promoter' };
  const agent = idOf(await recorder.desk(`grant-${owner_id}`, '/access-grants', granted));
  const issued = await issueKey(recorder, agent, `key-${owner_id}`);
  recorder.credentials[owner_id] = String(issued['api_key']);
  return { agent, key: idOf(issued) };
};

export const issueKey = (recorder: Recorder, agent: string, title: string): Promise<Json> =>
  recorder.desk(title, `/agents/${agent}/keys`, { environment: 'live', expires_in_days: 365 });

/** Sets a profile, whose mailbox its holder confirms. */
export const confirmMailbox = async (recorder: Recorder, { mailedLink }: World): Promise<void> => {
  const profile = { name: 'Brook', postal_address: '2 High Street', mailbox: 'ben@brook.example' };
  await recorder.desk('profile-brook', '/owners/brook/profile', profile);
  const path = await mailedLink('mailbox', profile.mailbox);
  await press(recorder, 'owner: confirm', { path, button: 'confirm' });
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

/** One application leads to a key, another one waits for its confirmation, and the third is not that of the mailbox's holder. */
export const applyInPublic = async (
  recorder: Recorder,
  { mailedLink, folded }: World,
): Promise<void> => {
  const apply = (over: object = {}) =>
    recorder.act('apply', {
      method: 'POST',
      path: '/apply',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ ...APPLICATION, ...over }).toString(),
    });
  await apply();
  const path = await mailedLink('apply', APPLICATION.mailbox);
  const fields = { owner_id: 'delta' };
  await press(recorder, 'apply: confirm', { path, button: 'confirm', fields });
  await folded();
  const asked = '/api/desk/v1/access-requests?owner_id=delta';
  const { body } = await recorder.act('requests', { method: 'GET', path: asked, as: 'staff' });
  const [request] = (JSON.parse(body) as { data: { agent_id: string }[] }).data;
  const approval = { reason: 'Known shop' };
  await recorder.desk('approve-delta', `/agents/${request?.agent_id}/approve`, approval);
  await folded();
  await press(recorder, 'apply: key', { path, button: 'key' });
  await apply({ owner_id: 'echo', mailbox: 'emil@echo.example' });
  const other = 'fritz@foxtrot.example';
  await apply({ owner_id: 'foxtrot', mailbox: other });
  const link = await mailedLink('apply', other);
  await press(recorder, 'apply: not me', { path: link, button: 'not-me' });
};
