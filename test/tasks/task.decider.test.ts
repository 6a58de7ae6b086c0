import { describe, expect, it } from 'vitest';
import { tasks } from '#projections/tasks.ts';
import type { OutboundStatus } from '#src/outreach/outbound.decider.ts';
import { isTerminal, task, TASK_STATUS_OF } from '#src/tasks/task.decider.ts';
import { specify } from '../support/world/decider-spec.ts';
import { happened, MIDNIGHT, rowsAfter } from '../support/world/fold.ts';
import { handoffCreated } from '../support/world/stories.ts';

const named = { task_id: 'tsk_1', context_id: 'ctx_1', agent_id: 'agt_1' };
const received = { type: 'TaskReceived' as const, data: { ...named, missing: ['skill'] } };
const artifact = { name: 'digest', content: '{}' };
const completed = { type: 'TaskCompleted' as const, data: { ...named, skill: 's', artifact } };
const rejected = { type: 'TaskRejected' as const, data: { ...named, code: 'scope_missing' } };
const canceled = { type: 'TaskCanceled' as const, data: named };
const linked = { type: 'TaskReceived' as const, data: { ...named, record: 'out_1' } };
const { given } = specify(task);
// Each message is new here: the handler detects a retry by the hash in its event, not the decider.
const decided = (history: Parameters<typeof given>, command: Parameters<typeof task.decide>[1]) =>
  task.decide(given(...history).state, command);

describe('A task', () => {
  it('A task starts with a message, receives further messages, and ends once', () => {
    const receive = { type: 'Receive', task: received.data } as const;
    expect(decided([], receive)).toEqual({ accepted: true, events: [received] });
    expect(decided([received], receive)).toEqual({ accepted: true, events: [received] });
    given().when({ type: 'Complete', task: completed.data }).then(completed);
    for (const [type, end] of [
      ['Complete', completed],
      ['Reject', rejected],
    ] as const)
      expect(decided([received], { type, task: end.data } as never)).toEqual({
        accepted: true,
        events: [end],
      });
    given(received).when({ type: 'Cancel' }).then(canceled);
  });

  it.each([[completed], [rejected], [canceled], [linked]])(
    'A task accepts no command after %j',
    (end) => {
      for (const command of [
        { type: 'Receive', task: received.data },
        { type: 'Complete', task: completed.data },
        { type: 'Reject', task: rejected.data },
      ] as const)
        given(received, end).when(command).rejected('task_ended');
      const cancel = given(received, end).when({ type: 'Cancel' });
      if (end === canceled) cancel.then();
      else cancel.rejected('task_ended');
    },
  );

  it('A task cannot be canceled if it does not exist', () => {
    given().when({ type: 'Cancel' }).rejected('task_unknown');
  });

  it('A task keeps its skill and removes the missing fields when it ends', () => {
    const skilled = { ...received, data: { ...received.data, skill: 'prepare_handoff' } };
    expect(given(skilled, canceled).state).toEqual({
      ...named,
      skill: 'prepare_handoff',
      status: 'CANCELED',
      created_at: 1_000,
      updated_at: 1_001,
      version: 1,
    });
    expect(
      given(skilled, { ...rejected, data: { ...rejected.data, boundary: 'b' } }).state,
    ).toMatchObject({
      status: 'REJECTED',
      code: 'scope_missing',
      boundary: 'b',
    });
  });

  it('A task waits for people and ends like its outreach request', () => {
    const ends = (Object.keys(TASK_STATUS_OF) as OutboundStatus[]).filter((status) =>
      isTerminal(TASK_STATUS_OF[status]),
    );
    expect(ends.sort()).toEqual(
      ['canceled', 'confirmed', 'expired', 'failed', 'outcome_unknown', 'rejected'].sort(),
    );
    expect(TASK_STATUS_OF.pending_approval).toBe('AUTH_REQUIRED');
    expect(TASK_STATUS_OF.changes_requested).toBe('INPUT_REQUIRED');
  });
});

describe('The list of tasks', () => {
  const proposed = (id: string, more = {}) =>
    happened('OutboundProposed', `outbound_${id}`, {
      outbound_id: `out_${id}`,
      agent_id: 'agt_1',
      kind: 'message',
      target: {},
      content: { text: 't', link_ids: [] },
      schedule: { not_after: MIDNIGHT },
      via: { adapter: 'file' },
      content_sha256: 'a',
      revision: 1,
      approval: { mode: 'owner_controlled', required: 1 },
      ...more,
    });

  it('The list of tasks contains the tasks of A2A by agent, and updates a task with each of its events', () => {
    const ref = { task_id: 'tsk_1', context_id: 'ctx_1' };
    const canceledOut = { outbound_id: 'out_1', agent_id: 'agt_1', task_id: 'tsk_1', by: 'x' };
    const rows = rowsAfter(tasks, [
      proposed('0'),
      handoffCreated('0'),
      happened('TaskReceived', 'task_1', received.data),
      proposed('1', ref),
      handoffCreated('2', { task_id: 'tsk_2', context_id: 'ctx_2' }),
      happened('OutboundCanceled', 'outbound_1', canceledOut, MIDNIGHT + 5),
    ]);
    expect(rows).toEqual({
      'anna/agt_1/tsk_1': {
        row: {
          ...named,
          status: 'WORKING',
          record: 'out_1',
          sort: 3,
          changed: 6,
          changed_at: MIDNIGHT + 5,
        },
        sort: 3,
      },
      'anna/agt_1/tsk_2': {
        row: {
          task_id: 'tsk_2',
          context_id: 'ctx_2',
          agent_id: 'agt_1',
          status: 'COMPLETED',
          record: 'hnd_2',
          sort: 5,
          changed: 5,
          changed_at: MIDNIGHT,
        },
        sort: 5,
      },
    });
  });

  it('The list of tasks keeps the first record if two records claim to be the task', () => {
    const ref = { task_id: 'tsk_1', context_id: 'ctx_1' };
    const rows = rowsAfter(tasks, [proposed('1', ref), handoffCreated('2', ref)]);
    expect(rows['anna/agt_1/tsk_1']?.row).toMatchObject({ record: 'out_1', changed: 1 });
  });
});
