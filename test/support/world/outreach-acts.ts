/** Executes commands on outreach requests, directly by the deciders on a log. */
import type { EventData } from '#contracts/registries/events.ts';
import type { Call } from '#src/shared/call.ts';
import { StreamQueue } from '#src/writing/idempotency.ts';
import { decideAndAppend, issue } from '#src/writing/decide-and-append.ts';
import { stateOf } from '#src/writing/streams.ts';
import { envelopeHash, envelopeOf } from '#src/sending/envelope.ts';
import { settingsStream } from '#src/sending/settings.ts';
import { agent, type AgentCommand } from '#src/access/access.decider.ts';
import {
  outbound,
  type OutboundCommand,
  type OutboundState,
} from '#src/outreach/outbound.decider.ts';
import {
  outreach,
  type OutreachChannel,
  type OutreachCommand,
} from '#src/sending/settings.decider.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import type { Ids } from '#src/ports/system.ts';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

export type Via = EventData<'OutboundProposed'>['via'];
export type Schedule = { not_before?: number; not_after?: number };

let requests = 0;

/** Repeats a command at once when another writer came first. */
export const promptStreamQueue = (): StreamQueue =>
  new StreamQueue({ monotonic: () => 0, random: () => 0, pause: async () => {} });

export const outreachActs = ({ log, ids, now }: { log: EventLog; ids: Ids; now(): number }) => {
  const writer = { log, ids, streamQueue: promptStreamQueue() };
  const streamOf = (owner: string, id: string) => `${owner}-outbound_${id.slice(4)}`;
  const call = (ownerId: string, requestId = ids.uuid()): Call => ({
    ownerId,
    actor: 'desk:1',
    surface: 'desk',
    operation: 'configureOutreach',
    requestId,
    at: now(),
  });
  const command = async (owner: string, id: string, given: OutboundCommand, requestId?: string) => {
    const written = await decideAndAppend(writer, call(owner, requestId), {
      stream: streamOf(owner, id),
      decider: outbound,
      command: () => issue(given),
    });
    if (!written.ok) throw new Error(written.detail);
  };
  const settings = async (owner: string, asked: OutreachCommand): Promise<void> => {
    const stream = settingsStream(owner);
    await decideAndAppend(writer, call(owner), {
      stream,
      decider: outreach,
      command: () => issue(asked),
    });
  };
  const state = async (owner: string, id: string): Promise<OutboundState> => {
    const current = await stateOf({ log }, { stream: streamOf(owner, id), decider: outbound });
    if (!current) throw new Error(`${id} does not exist`);
    return current;
  };
  return {
    command,
    settings,
    state,
    /** Executes decisions of people on the agent of these requests. */
    async judge(owner: string, ...commands: AgentCommand[]) {
      for (const asked of commands)
        await decideAndAppend(writer, call(owner), {
          stream: `${owner}-agent_1`,
          decider: agent,
          command: () => issue(asked),
        });
    },
    /** Returns the types of the request's events. */
    events: async (owner: string, id: string) =>
      (await log.readStream(streamOf(owner, id))).map(({ type }) => type),
    /** Lets one person approve the owner's messages, which go to `channel`. */
    configure: (owner: string, channel: OutreachChannel) =>
      settings(owner, {
        type: 'Configure',
        settings: {
          mode: 'owner_controlled',
          approvals_required: 1,
          channels: { message: channel },
        },
      }),
    /** Proposes a message; returns its id. */
    async propose(owner: string, via: Via, schedule: Schedule = {}) {
      requests += 1;
      const id = `out_${String(requests).padStart(24, '0')}`;
      const what = {
        outbound_id: id,
        agent_id: 'agt_1',
        kind: 'message' as const,
        target: { channel: 'email', recipient_ref: 'list:cafes' },
        content: { text: 'Mugs are back.', link_ids: [] },
        schedule: { not_after: now() + 30 * DAY_MS, ...schedule },
        via,
        revision: 1,
      };
      const content_sha256 = envelopeHash(envelopeOf(owner, what));
      const approval = { mode: 'owner_controlled', required: 1 };
      await command(owner, id, {
        type: 'Propose',
        proposal: { ...what, content_sha256, approval },
      });
      return id;
    },
    async approve(owner: string, id: string, requestId?: string) {
      const { content_sha256: contentSha256 } = await state(owner, id);
      const anna = { by: 'desk:1', name: 'Anna', person_id: 'name:anna' };
      const person = { at: now(), ...anna, role: 'owner' as const };
      await command(owner, id, { type: 'Approve', ...person, contentSha256 }, requestId);
    },
  };
};
