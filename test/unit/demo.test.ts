import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '#src/adapters/system/clock.ts';
import { authenticator } from '#src/app/pipeline/authenticate.ts';
import { formatBanner } from '#src/cli/service/banner.ts';
import { readConfig } from '#src/config.ts';
import { demoClock } from '#src/demo/clock.ts';
import { demoFactsIn } from '#src/demo/facts.ts';
import { HANDOFFS } from '#src/demo/handoffs.ts';
import { LINKS } from '#src/demo/links.ts';
import { ensureDemo } from '#src/demo/story.ts';
import { arrivals } from '#src/demo/traffic.ts';
import { openService } from '#src/main.ts';
import { directories } from '../support/processes/directories.ts';

const DAY_MS = 86_400_000;
const directory = directories('tributary-demo-');
afterAll(() => directory.removeAll());

/** A service on this directory with its demo, as serve --demo makes it. */
const played = async (data: string, begin = true) => {
  const config = { ...readConfig({ LOG_LEVEL: 'error' }), dataDirectory: data };
  const clock = demoClock(systemClock());
  const service = await openService(config, { clock, ...(begin && { onLog: clock.begin }) });
  const facts = await ensureDemo(service, clock);
  const events = await service.deps.log.readAll({ after: 0, limit: 10_000 });
  return { service, clock, facts, events };
};

/** Without what agents asked: that is gathered by real time, and a slow machine writes it apart. */
const kindsOf = (events: { type: string; owner: string }[]): string[] =>
  events.flatMap(({ owner, type }) => (type === 'ActivityRecorded' ? [] : [`${owner} ${type}`]));

describe('the demo story', () => {
  it('lasts thirty days up to now, in order, and is the same in every directory', async () => {
    const [one, two] = [await played(directory.fresh()), await played(directory.fresh())];
    const times = one.events.map(({ meta }) => meta.at);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    const now = systemClock().now();
    expect((times[0] ?? 0) / DAY_MS).toBeCloseTo(now / DAY_MS - 30, 1);
    expect(times.at(-1)).toBeLessThanOrEqual(now);
    expect(kindsOf(two.events)).toEqual(kindsOf(one.events));
    for (const type of ['AccessDenied', 'AgentSuspended', 'KeyRevoked', 'HandoffDeclinedByBuyer'])
      expect(one.events.map((event) => event.type)).toContain(type);
    await Promise.all([one.service.close(), two.service.close()]);
  });

  it('is told once; a lost demo.json costs a new key and nothing else', async () => {
    const data = directory.fresh();
    const first = await played(data);
    await first.service.close();
    const second = await played(data);
    expect(second.facts).toEqual(first.facts);
    await second.service.close();

    rmSync(join(data, 'demo.json'));
    const third = await played(data);
    const { facts, service } = third;
    expect(facts?.agent_id).toBe(first.facts?.agent_id);
    const auth = authenticator(service.deps);
    expect(auth.agent(facts?.api_key ?? '').ok).toBe(true);
    expect(auth.agent(first.facts?.api_key ?? '')).toMatchObject({ code: 'credential_revoked' });
    await service.close();
  });

  it.each([
    ['before an agent was approved', 5],
    ['in the middle', 300],
  ])('interrupted %s, is known to be half of one', async (_when, steps) => {
    const data = directory.fresh();
    const config = { ...readConfig({ LOG_LEVEL: 'error' }), dataDirectory: data };
    const clock = demoClock(systemClock());
    const cut = { ...clock, set: (at: number) => (steps-- > 0 ? clock.set(at) : stop()) };
    const stop = () => {
      throw new Error('cut off');
    };
    const service = await openService(config, { clock, onLog: clock.begin });
    await expect(ensureDemo(service, cut)).rejects.toThrow('cut off');
    await service.close();
    expect(demoFactsIn(data)).toMatchObject({ owner: 'northwind' });
    const again = await played(data);
    const facts = again.facts ?? null;
    await again.service.close();
    const demo = facts && { facts, deskToken: 'trbd_x' };
    const shown = { url: 'http://x', config, head: 1, readModels: [], ...(demo && { demo }) };
    expect(formatBanner(shown)).toContain('run make demo-reset, and start it again');
  });

  it('comes after what the log already has', async () => {
    const { service, events, clock } = await played(directory.fresh(), false);
    const times = events.map(({ meta }) => meta.at);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(clock.now()).toBeGreaterThanOrEqual(times.at(-1) ?? 0);
    await service.close();
  });

  it('has visitors of every kind, and a plot that names what exists', () => {
    const agents = arrivals(LINKS).map(({ visit }) => visit);
    expect(agents.some(({ method }) => method === 'HEAD')).toBe(true);
    expect(agents.some(({ userAgent }) => /bot/i.test(userAgent ?? ''))).toBe(true);
    expect(agents.some(({ purpose }) => purpose === 'prefetch')).toBe(true);
    expect(agents.some(({ viaQr }) => viaQr)).toBe(true);
    const names = LINKS.map(({ name }) => name);
    for (const { from } of HANDOFFS) if (from !== undefined) expect(names).toContain(from);
  });
});
