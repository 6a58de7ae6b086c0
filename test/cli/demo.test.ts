import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { authenticator } from '#src/calls/authenticate.ts';
import { formatBanner } from '#src/cli/service.ts';
import { readConfig } from '#src/config.ts';
import { demoClock, ROOT } from '#src/demo/cast.ts';
import { demoFactsIn } from '#src/demo/facts.ts';
import { Player } from '#src/demo/player.ts';
import { LINKS, plannedVisits } from '#src/demo/visits.ts';
import { ensureDemo, storyActs } from '#src/demo/story.ts';
import { systemClock } from '#src/system/ids.ts';
import { directories } from '../support/processes/directories.ts';
import { openService } from '../support/world/open-service.ts';

const DAY_MS = 86_400_000;
const directory = directories('tributary-demo-');
afterAll(() => directory.removeAll());

/** Opens a service with its demo on this directory, as serve --demo does. */
const openDemo = async (data: string, begin = true, env: Record<string, string> = {}) => {
  const config = { ...readConfig({ LOG_LEVEL: 'error', ...env }), dataDirectory: data };
  const clock = demoClock(systemClock());
  const service = await openService(config, { clock, ...(begin && { onLog: clock.begin }) });
  const facts = await ensureDemo(service, clock).catch(async (error: unknown) => {
    await service.close();
    throw error;
  });
  const events = await service.deps.log.readAll({ after: 0, limit: 10_000 });
  return { service, clock, facts, events };
};

type Published = { product: { product_id: string; sku: string; source_updated_at: string } };

const kindsOf = (events: { type: string; owner: string; position: number }[]): string[] =>
  events.map(({ position, owner, type }) => `${position} ${owner} ${type}`);

describe('The demo story', () => {
  it('The demo story covers the last thirty days in order, and is the same in every directory', async () => {
    const [one, two] = [await openDemo(directory.fresh()), await openDemo(directory.fresh())];
    const times = one.events.map(({ meta }) => meta.at);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    const now = systemClock().now();
    expect((times[0] ?? 0) / DAY_MS).toBeCloseTo(now / DAY_MS - 30, 1);
    expect(times.at(-1)).toBeLessThanOrEqual(now);
    expect(kindsOf(two.events)).toEqual(kindsOf(one.events));
    for (const type of [
      'AccessDenied',
      'AgentSuspended',
      'KeyRevoked',
      'HandoffDeclinedByBuyer',
      'SubjectErased',
    ])
      expect(one.events.map((event) => event.type)).toContain(type);
    const [list] = one.events.filter(({ type }) => type === 'BuyerListCreated');
    const ofList = one.events.filter(({ stream }) => stream === list?.stream);
    expect(list?.data).toHaveProperty('visit_id');
    expect(ofList.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['RfqConfirmedByBuyer', 'RfqWon']),
    );
    await Promise.all([one.service.close(), two.service.close()]);
  });

  it('The demo story has work for each kind of person, and nothing that is expired', async () => {
    const env = { ADMISSION_WAIT_MS: '30000' };
    const { service, events } = await openDemo(directory.fresh(), true, env);
    const player = new Player(service);
    const now = systemClock().now();
    const daysTo = (time: string | undefined) => (Date.parse(time ?? '') - now) / DAY_MS;

    const { data: rfqs } = await player.perform(ROOT, 'listRfqs', {});
    expect(rfqs.map(({ state }) => state)).not.toContain('expired');
    const open = rfqs.filter(({ state }) => state === 'confirmed');
    expect(open.filter(({ submitted_at }) => daysTo(submitted_at) < -7)).toHaveLength(1);
    expect(open.filter(({ indicative_totals: totals }) => totals.length === 2)).toHaveLength(1);
    expect(rfqs.filter(({ state }) => state === 'unconfirmed')).toHaveLength(1);
    const [quoted] = rfqs.filter(({ state }) => state === 'quoted');
    expect(daysTo(quoted?.quotation?.valid_until)).toBeCloseTo(1, 1);
    expect(rfqs.filter(({ due_at }) => due_at !== undefined && daysTo(due_at) > 0)).toHaveLength(1);

    const pending = { state: 'pending' as const };
    const { data: requests } = await player.perform(ROOT, 'listAccessRequests', pending);
    expect(requests).toHaveLength(1);
    const { data: approvals } = await player.perform(ROOT, 'listApprovals', {});
    expect(approvals.map(({ status }) => status)).toEqual(['pending_approval']);

    for (const owner_id of ['northwind', 'harbour']) {
      const profile = await player.perform(ROOT, 'readOwnerProfile', { owner_id });
      expect(profile).toHaveProperty('mailbox_confirmed_at');
      const { data: handoffs } = await player.perform(ROOT, 'listHandoffs', { owner_id });
      const { data: keys } = await player.perform(ROOT, 'listKeys', { owner_id });
      const active = keys.filter(({ status }) => status === 'active');
      for (const { expires_at } of [...handoffs, ...active])
        expect(daysTo(expires_at)).toBeGreaterThan(1);
    }

    const products = new Map<string, string>();
    for (const { type, data } of events) {
      const { product } = data as Published;
      if (/^Product(Published|Revised)$/.test(type))
        products.set(product.product_id, product.source_updated_at);
      if (type === 'ProductWithdrawn') products.delete((data as { product_id: string }).product_id);
    }
    expect(products.size).toBeGreaterThan(50);
    for (const [sku, time] of products) expect(daysTo(time), sku).toBeGreaterThan(-2);
    const get = (url: string) => service.server.inject({ url, headers: { host: '127.0.0.1' } });
    const { body } = await get('/s?q=mug');
    const pictures = [...body.matchAll(/<img[^>]* src="([^"]+)"/g)].map(([, src = '']) => src);
    expect(pictures.length).toBeGreaterThan(1);
    for (const url of pictures) expect((await get(url)).body, url).toMatch(/^<svg /);
    await service.close();
  });

  it('The demo story has what is above APPROVAL_ABOVE approved by a second person', async () => {
    const env = { APPROVAL_ABOVE: '100 GBP' };
    const { service, events } = await openDemo(directory.fresh(), true, env);
    const actorsOf = (type: string) =>
      new Set(events.flatMap((event) => (event.type === type ? [event.meta.actor] : [])));
    const [proposers, quoters] = [actorsOf('RfqMoveProposed'), actorsOf('RfqQuoted')];
    expect([proposers.size, quoters.size]).toEqual([1, 1]);
    expect(quoters).not.toEqual(proposers);
    await service.close();
  });

  it('The demo story is written once, and only its key is replaced if demo.json is lost', async () => {
    const data = directory.fresh();
    const first = await openDemo(data);
    await first.service.close();
    const second = await openDemo(data);
    expect(second.facts).toEqual(first.facts);
    await second.service.close();

    rmSync(join(data, 'demo.json'));
    const third = await openDemo(data);
    const { facts, service } = third;
    expect(facts?.agent_id).toBe(first.facts?.agent_id);
    const auth = authenticator(service.deps);
    expect(auth.agent(facts?.api_key ?? '').ok).toBe(true);
    expect(auth.agent(first.facts?.api_key ?? '')).toMatchObject({ code: 'credential_revoked' });
    await service.close();
  });

  it.each([
    ['before an agent was approved', 11],
    ['in the middle', 300],
  ])('The demo story is reported as incomplete if it was interrupted %s', async (_when, steps) => {
    const data = directory.fresh();
    const config = { ...readConfig({ LOG_LEVEL: 'error' }), dataDirectory: data };
    const clock = demoClock(systemClock());
    const interrupted = { ...clock, set: (at: number) => (steps-- > 0 ? clock.set(at) : stop()) };
    const stop = () => {
      throw new Error('cut off');
    };
    const service = await openService(config, { clock, onLog: clock.begin });
    await expect(ensureDemo(service, interrupted)).rejects.toThrow('cut off');
    await service.close();
    expect(demoFactsIn(data)).toMatchObject({ owner: 'northwind' });
    const again = await openDemo(data);
    const facts = again.facts ?? null;
    await again.service.close();
    const demo = facts && { facts, deskToken: 'trbd_x' };
    const shown = { url: 'http://x', config, head: 1, readModels: [], ...(demo && { demo }) };
    expect(formatBanner(shown)).toMatch(
      /run \.\/tributary demo-reset --data \S+, and start it again/,
    );
  });

  it('The demo story starts after the last event of a log that is not empty', async () => {
    const { service, events, clock } = await openDemo(directory.fresh(), false);
    const times = events.map(({ meta }) => meta.at);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(clock.now()).toBeGreaterThanOrEqual(times.at(-1) ?? 0);
    await service.close();
  });

  it('The demo story is not written into a log that has other events', async () => {
    const data = directory.fresh();
    const config = { ...readConfig({ LOG_LEVEL: 'error' }), dataDirectory: data };
    const other = await openService(config, {});
    const { position } = await other.deps.log.head();
    await other.close();
    await expect(openDemo(data)).rejects.toThrow('did not begin the demo in it');
    const again = await openService(config, {});
    expect((await again.deps.log.head()).position).toBe(position);
    await again.close();
  });

  it('The demo story has visitors of each kind', () => {
    const visits = plannedVisits(LINKS).map(({ visit }) => visit);
    expect(visits.some(({ method }) => method === 'HEAD')).toBe(true);
    expect(visits.some(({ user_agent }) => /bot/i.test(user_agent ?? ''))).toBe(true);
    expect(visits.some(({ purpose }) => purpose === 'prefetch')).toBe(true);
    expect(visits.some(({ via_qr }) => via_qr)).toBe(true);
  });

  it('The demo story refers only to answers of earlier acts', () => {
    const acts = storyActs([]).toSorted((a, b) => a.day - b.day);
    const names = new Set<string | undefined>();
    for (const { as, input } of acts) {
      for (const [, name] of JSON.stringify(input).matchAll(/\{([^{}."]+)\.\w+\}/g))
        expect(names, `{${name}} in ${JSON.stringify(input)}`).toContain(name);
      names.add(as);
    }
    expect(names).toContain('letter mugs');
  });
});
