import { liveOwnerOf } from '#contracts/spaces.ts';
import type { OutboundState } from './outbound-state.decider.ts';
import { outreach } from '#src/sending/settings.decider.ts';
import type { DeliveryResult } from '#src/ports/delivery.ts';
import { decideAndAppend, issue } from '#src/writing/decide-and-append.ts';
import type { Deps } from '#src/calls/call.ts';
import type { Call } from '#src/shared/call.ts';
import { refuse } from '#src/shared/outcome.ts';
import { listing } from '#src/reading/listing.ts';
import { DAY_MS } from '#src/shared/time.ts';
import { settingsStream } from '#src/sending/settings.ts';

type HealthDeps = Pick<Deps, 'log' | 'ids' | 'streamQueue' | 'readModels'>;

const FAILING_MS_MAX = 5 * DAY_MS;
const PAGE_ROWS = 100;
const ROWS_MAX = 1_000;
/** Reasons for which the receiver is responsible, and not this service. */
const RECEIVER_FAULT = /(?:http_\d+|dns_failed|connect_failed|tls_failed|timeout|connection_lost)$/;

/**
 * Disables the webhook of this kind when its receiver is gone, or has failed for FAILING_MS_MAX.
 * Other adapters have no single receiver: files are ours, and each agent card is another agent's.
 */
export const judgeChannel = async (
  deps: HealthDeps,
  call: Call,
  { state, result }: { state: OutboundState; result: DeliveryResult },
): Promise<void> => {
  if (result.outcome === 'delivered' || state.via.adapter !== 'webhook') return;
  if (result.outcome === 'refused' && result.disable) {
    await disable(deps, call, { state, reason: `gone: ${result.reason}` });
    return;
  }
  if (!RECEIVER_FAULT.test(result.reason)) return;
  const since = await failingSince(deps, call, state);
  if (call.at - since >= FAILING_MS_MAX)
    await disable(deps, call, { state, reason: `failing for 5 days: ${result.reason}` });
};

/**
 * Finds the first failure of this receiver since its last success or configuration. Only the last
 * attempt of each request is stored, so the time can be later than the true one, never earlier.
 */
const failingSince = async (
  deps: HealthDeps,
  { ownerId, at }: Call,
  { kind, via }: OutboundState,
): Promise<number> => {
  let good = await configuredAt(deps, ownerId);
  const failures = [at];
  let scanned = 0;
  const query = { scope: ownerId, limit: PAGE_ROWS };
  for await (const page of listing<OutboundState>(deps.readModels, 'outbound', query)) {
    for (const { row } of page) {
      if (row.kind !== kind || row.via.url !== via.url || row.attempted_at === undefined) continue;
      if (row.status === 'confirmed') good = Math.max(good, row.updated_at);
      else if (RECEIVER_FAULT.test(row.status_reason ?? '')) failures.push(row.attempted_at);
    }
    scanned += PAGE_ROWS;
    if (scanned >= ROWS_MAX) break;
  }
  return Math.min(...failures.filter((failure) => failure > good), at);
};

const configuredAt = async ({ log }: HealthDeps, ownerId: string): Promise<number> => {
  const settings = await log.readStream(settingsStream(liveOwnerOf(ownerId)));
  return settings.findLast(({ type }) => type === 'OutreachConfigured')?.meta.at ?? 0;
};

const OTHER_RECEIVER = refuse('state_conflict', 'The channel has another receiver now.');

const disable = async (
  deps: HealthDeps,
  call: Call,
  { state: { kind, via }, reason }: { state: OutboundState; reason: string },
): Promise<void> => {
  const ownerId = liveOwnerOf(call.ownerId);
  const target = {
    stream: settingsStream(ownerId),
    decider: outreach,
    command: (own: Parameters<typeof outreach.decide>[0]) =>
      own?.settings?.channels[kind]?.url === via.url
        ? issue({ type: 'DisableChannel' as const, kind, reason })
        : OTHER_RECEIVER,
  };
  const written = await decideAndAppend(deps, { ...call, ownerId }, target);
  if (!written.ok && 'code' in written && written.code !== 'state_conflict')
    throw new Error(`the channel could not be disabled: ${written.detail}`);
};
