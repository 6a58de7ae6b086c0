/** What the agent of acme does over A2A: tasks that end in each way, and the receivers that are notified of them. */
import { a2a, sendTask } from './agents.ts';
import { decideOn } from './outreach.ts';
import { idOf, type Json, type Recorder } from './recorder.ts';
import type { World } from './world.ts';

const POST = {
  skill: 'coordinate_promotion',
  kind: 'social_post',
  network: 'mastodon',
  account_ref: 'shop',
};

export const sendTasks = async (recorder: Recorder): Promise<void> => {
  const { ids } = recorder;
  const list = { title: 'Candles', line_items: [{ sku: 'CAN-1', quantity: 48 }] };
  ids['task'] = await sendTask(recorder, 'task-list', { skill: 'prepare_handoff', ...list });
  const text = 'Candles are back in stock.';
  ids['notified task'] = await sendTask(recorder, 'task-post', { ...POST, text });
  await sendTask(recorder, 'task-why', { skill: 'attribution_question', link_id: ids['link'] });
  await sendTask(recorder, 'task-order', { skill: 'place_order', sku: 'CAN-1' });
  const receiver = {
    taskId: ids['notified task'],
    url: 'https://hook.example/tasks',
    token: 'one of the receiver',
    authentication: { scheme: 'Bearer', credentials: 'another' },
  };
  await recorder.write('a2a receiver', a2a('CreateTaskPushNotificationConfig', receiver));
  // Without its lines, it waits for another message.
  const unfinished = { skill: 'prepare_handoff', title: 'Trays' };
  ids['canceled task'] = await sendTask(recorder, 'task-unfinished', unfinished);
  await recorder.act('a2a cancel', a2a('CancelTask', { id: ids['canceled task'] }));
};

/**
 * Has four receivers of one task: one is well, one is busy at first, one refuses, and one is removed. The owner approves
 * what the task proposes, which changes it.
 */
export const notifyReceivers = async (recorder: Recorder, world: World): Promise<void> => {
  const { ids } = recorder;
  const text = 'Trays are back in stock.';
  const taskId = (ids['pushed task'] = await sendTask(recorder, 'task-pushed', { ...POST, text }));
  // A later version may not be configured to send to this machine, so that no retry of these is recorded.
  const register = (path: string) =>
    recorder.act(
      `a2a receiver ${path}`,
      a2a('CreateTaskPushNotificationConfig', { taskId, id: path, url: `${world.hook}/${path}` }),
    );
  for (const path of ['well', 'busy', 'refuses', 'removed']) await register(path);
  const removed = a2a('DeleteTaskPushNotificationConfig', { taskId, id: 'removed' });
  await recorder.act('a2a receiver removed', removed);
  await world.folded();
  const { body } = await recorder.act('requests', {
    method: 'GET',
    path: '/api/desk/v1/approvals?owner_id=acme&limit=100',
    as: 'staff',
  });
  const { data } = JSON.parse(body) as { data: Json[] };
  const request = data.find(({ task_id }) => task_id === taskId) ?? {};
  await decideOn(recorder, request, { verb: 'approve', as: 'owner' });
  await world.reached(idOf(request), 'confirmed');
  await world.happened('PushDeferred', 'PushDelivered', 'PushFailed');
};
