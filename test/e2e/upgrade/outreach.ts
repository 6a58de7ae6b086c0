/** Outreach of the story: what acme decides itself, and what happens at the receivers of dune, for which staff decide. */
import { SCOPE_NAMES } from '#contracts/scopes.ts';
import { callTool } from './agents.ts';
import { grantAccess } from './owners.ts';
import { idOf, type Json, type Recorder } from './recorder.ts';
import type { World } from './world.ts';

const KINDS = ['social_post', 'message', 'agent_notification'];
export const FILES = KINDS.map((kind) => ({ kind, adapter: 'file' }));

const post = (
  recorder: Recorder,
  idempotency_key: string,
  { text = 'Mugs are back in stock. Ask us for a list.', ...more }: Json = {},
): Promise<Json> => {
  const where = { network: 'mastodon', account_ref: 'shop' };
  return callTool(recorder, 'request_social_post', { idempotency_key, ...where, text, ...more });
};

/** Decides on the request as it is. */
export const decideOn = (
  recorder: Recorder,
  request: Json,
  { verb, as, ...more }: { verb: string; as: string } & Json,
): Promise<Json> => {
  const path = `/approvals/${idOf(request)}/${verb}`;
  const body = { content_sha256: request['content_sha256'], ...more };
  return recorder.desk(`${verb}-${idOf(request)}`, path, body, as);
};

export const proposeOutreach = async (recorder: Recorder): Promise<void> => {
  const { ids } = recorder;
  const settings = { mode: 'owner_controlled', approvals_required: 1, channels: FILES };
  await recorder.desk('outreach-acme', '/outreach/acme', settings);
  const sent = await post(recorder, 'post-sent');
  ids['sent request'] = idOf(sent);
  await decideOn(recorder, sent, { verb: 'approve', as: 'owner' });
  const refused = await post(recorder, 'post-refused');
  await decideOn(recorder, refused, { verb: 'refuse', as: 'owner', reason: 'Too loud' });
  ids['pending request'] = idOf(await post(recorder, 'post-pending'));
};

/** Configures webhooks for dune, whose receiver does with each post what the text says. */
const configureDune = async (recorder: Recorder, { hook }: World): Promise<void> => {
  await grantAccess(recorder, 'dune', SCOPE_NAMES);
  const channels = [
    { kind: 'social_post', adapter: 'webhook', url: `${hook}/posts` },
    { kind: 'message', adapter: 'webhook', url: `${hook}/gone` },
  ];
  const settings = { mode: 'admin_approved', approvals_required: 1, channels };
  await recorder.desk('outreach-dune', '/outreach/dune', settings);
};

/** Posts of dune that are sent with each outcome, and others that never are. */
export const sendByWebhook = async (recorder: Recorder, world: World): Promise<void> => {
  const { ids } = recorder;
  await configureDune(recorder, world);
  const propose = (key: string, more: Json) => post(recorder, key, { as: 'dune', ...more });
  const outcomes = { busy: 'confirmed', refuses: 'failed', loses: 'outcome_unknown' };
  for (const [fault, status] of Object.entries(outcomes)) {
    const made = await propose(`post-${fault}`, { text: `Mugs (${fault})` });
    ids[`${fault} request`] = idOf(made);
    await decideOn(recorder, made, { verb: 'approve', as: 'first' });
    await world.reached(idOf(made), status);
  }
  const changed = await propose('post-changed', { text: 'Mugs!' });
  await decideOn(recorder, changed, {
    verb: 'request-changes',
    as: 'first',
    reason: 'Say which ones',
  });
  ids['revised request'] = idOf(changed);
  await propose('post-revised', { text: 'Blue mugs!', revises: idOf(changed) });
  const canceled = await propose('post-canceled', { text: 'Trays!' });
  await callTool(recorder, 'cancel_outbound_request', {
    as: 'dune',
    idempotency_key: 'cancel-post',
    outbound_id: idOf(canceled),
  });
  // The receiver of messages is gone for good, which disables the channel.
  const message = await callTool(recorder, 'request_message', {
    as: 'dune',
    idempotency_key: 'message-gone',
    channel: 'email',
    recipient_ref: 'list:cafes',
    subject: 'Mugs',
    text: 'Mugs are back in stock.',
  });
  await decideOn(recorder, message, { verb: 'approve', as: 'first' });
  await world.reached(idOf(message), 'failed');
  await world.happened('OutreachChannelDisabled');
  for (const verb of ['halt', 'resume']) {
    const body = { owner_id: 'dune', reason: 'Wrong campaign' };
    await recorder.desk(`${verb}-dune`, `/outreach-${verb}`, body);
  }
};
