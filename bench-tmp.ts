import { logMaker } from './test/bench/million.ts';
import { rebuildAll } from './projections/engine/rebuild.ts';
import { verify } from './projections/engine/verify.ts';
import { PROJECTIONS } from './projections/index.ts';
import { memoryStore } from './src/adapters/memory/read-model.ts';
import { sqliteEventLog } from './src/adapters/sqlite/event-log.ts';
import { redisStore } from './src/adapters/redis/read-model.ts';
import { localReadModels, remoteReadModels } from './projections/engine/readers.ts';
const dir = '/tmp/redis-bench/log';
const what = process.argv[2];
const log = what === 'make' ? undefined : sqliteEventLog({ directory: dir });
const projections = PROJECTIONS.filter(({ name }) => process.env.ALLP || !['credentials', 'codes'].includes(name));
if (what === 'make') { await (logMaker as any)({ directory: dir }); process.exit(0); }
const upTo = Number(process.env.N ?? 300_000);
const limited = { ...log!, head: async () => ({ position: upTo, at: 0 }), readFold: async (o: any) => (o.after >= upTo ? [] : log!.readFold({ after: o.after, limit: Math.min(o.limit, upTo - o.after) })) };
const store = what === 'redis' ? await redisStore({ url: new URL('redis://127.0.0.1:7799'), log: 'bench' + Date.now() }) : memoryStore();
const t = performance.now(); const cpu = process.cpuUsage();
await rebuildAll({ log: limited as any, store, projections });
const s = (performance.now() - t) / 1000; const c = process.cpuUsage(cpu);
console.log(what, Math.round(upTo / s), 'ev/s', s.toFixed(1), 's; node cpu', ((c.user + c.system) / 1e6).toFixed(1), 'rss', Math.round(process.resourceUsage().maxRSS / 1024));
const engine = { owed: () => 0, recheck() {} };
const readers = what === 'redis' ? remoteReadModels(store as any, projections, engine) : localReadModels(store as any, projections);
const measure = async (name: string, ask: (i: number) => Promise<unknown>, n: number, lanes = 64) => {
  const run = async (k: number) => { let i = 0; const lane = async () => { while (i < k) await ask(i++); }; await Promise.all(Array.from({ length: lanes }, lane)); };
  await run(n / 4); const t = performance.now(); await run(n); const d = (performance.now() - t) / 1000;
  console.log(what, name, Math.round(n / d), '/s');
};
await measure('page of 25 leads', (i) => readers.list('leads', { scope: `promoter${i % 200}`, limit: 26 }), what === 'redis' ? 8_000 : 20_000);
await measure('page of 25 leads, 1 lane', (i) => readers.list('leads', { scope: `promoter${i % 200}`, limit: 26 }), 2_000, 1);
await measure('get link', (i) => readers.get('links', `promoter${i % 200}`, 'x'), 20_000);
if (process.env.VERIFY && what === 'redis') {
  const v = await verify({ log: limited as any, store, projections, fresh: memoryStore() });
  console.log('verify', v.rows, v.mismatches.length);
}
await store.close(); await log!.close();
process.exit(0);
