/** What one process acknowledged is there at once for every other one, while many clients write. */
import { env } from 'node:process';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectProved, served } from '../../support/audit/export.ts';
import { untilServed } from '../../support/clients/cli.ts';
import { randomFrom } from '../../support/clients/journal.ts';
import { HANG_MS } from '../../support/hang.ts';
import { agentKey, atDesk, type ChildService } from '../../support/processes/child-service.ts';
import { ask, endRemote, type RemoteWorld, remoteWorld } from '../../support/processes/remote.ts';
import { hasRedis, ON_REDIS } from '../../support/redis/redis-server.ts';

/** The number of records; `make test-chaos` makes 10,000. */
const RECORDS = Number(env['RECORDS'] ?? 400);
/** As many as the delays of the stand-in were measured with. */
const CLIENTS = 16;
const SEED = Number(env['SEED'] ?? 320_001);

/** What the other process answered for good although it was wrong. */
const refused: string[] = [];
/** How often a process asked to wait, and the number of uses. */
let waits = 0;
let uses = 0;

let world: RemoteWorld;
let services: ChildService[];
let key: string;

beforeAll(async () => {
  if (!hasRedis) return;
  world = await remoteWorld();
  services = await Promise.all(['api', 'api'].map((role) => world.start(role)));
  await world.start('projector');
  key = await agentKey(services[0] as ChildService, 'acme', services);
});
afterAll(endRemote);

/** Uses a record until the answer is not 503, and notes any answer that is not the expected one. */
const use = async (
  what: string,
  request: () => Promise<Response>,
  isRight: (response: Response, text: string) => boolean,
): Promise<void> => {
  uses += 1;
  const response = await untilServed(async () => {
    const answer = await request();
    if (answer.status === 503) {
      waits += 1;
      expect(answer.headers.get('retry-after'), what).toMatch(/^\d+$/);
    }
    return answer;
  });
  const text = await response.text();
  if (!isRight(response, text)) refused.push(`${what}: ${response.status} ${text.slice(0, 200)}`);
};

const isOk = ({ ok }: Response): boolean => ok;

type Kind = (n: number, maker: ChildService, user: ChildService) => Promise<void>;

const agents = ({ url }: ChildService, path: string, bearer = key, headers = {}) =>
  fetch(`${url}/api/affiliate/v1${path}`, {
    headers: { authorization: `Bearer ${bearer}`, ...headers },
  });
const command = ({ url, deskToken }: ChildService, path: string, body: object) =>
  fetch(`${url}/api/desk/v1${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${deskToken}`,
      'content-type': 'application/json',
      'idempotency-key': path,
    },
    body: JSON.stringify(body),
  });

const link: Kind = async (n, maker, user) => {
  const body = { target: { kind: 'search', ref: `q${n}` } };
  const made = await ask(maker, key, '/links', { body, 'idempotency-key': `link-${n}` });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  const { pathname } = new URL(String(made.body['short_url']));
  const follow = () => fetch(user.url + pathname, { redirect: 'manual' });
  await use(`link ${n}`, follow, ({ status }) => status >= 300 && status < 400);
};

const lead: Kind = async (n, maker, user) => {
  const name = `lead-${n}`;
  const body = { external_id: name, company: { name: 'Shop', country: 'GB' } };
  const made = await ask(maker, key, '/leads', { body, 'idempotency-key': name });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  const path = `/leads?external_id=${name}`;
  const isListed = ({ ok }: Response, text: string): boolean => ok && text.includes(`"${name}"`);
  await use(`lead ${n} where it was made`, () => agents(maker, path), isListed);
  const token = { 'consistency-token': made.headers.get('consistency-token') ?? '' };
  await use(`lead ${n} elsewhere`, () => agents(user, path, key, token), isListed);
  const move = `/leads/${String(made.body['id'])}/move`;
  await use(
    `lead ${n} at the desk`,
    () => command(user, move, { owner_id: 'acme', to: 'accepted' }),
    isOk,
  );
};

/** A grant of access, its narrowing by another process, and a key that the other process issues. */
const access: Kind = async (n, maker, user) => {
  const asked = await atDesk(maker, '/access-grants', {
    owner_id: 'acme',
    name: `Agent ${n}`,
    purpose: 'Tests',
    scopes: ['links:write', 'leads:read'],
    reason: 'Known',
  });
  const agent = `/agents/${asked['id']}`;
  const narrower = { scopes: ['links:write'], reason: 'Less' };
  await use(`approval ${n}`, () => command(user, `${agent}/approve`, narrower), isOk);
  const issued = await atDesk(user, `${agent}/keys`, {});
  const isOwner = ({ ok }: Response, text: string): boolean => ok && text.includes('"acme"');
  for (const one of [maker, user])
    await use(`key ${n}`, () => agents(one, '/connection', issued['api_key']), isOwner);
};

const KINDS: readonly Kind[] = [link, lead, access];

it.skipIf(!hasRedis)(
  `A record that one process made is found by every other one at once, under load, ${ON_REDIS}`,
  { timeout: 5 * HANG_MS + RECORDS * 1_000 },
  async () => {
    let next = 0;
    const client = async (seed: number): Promise<void> => {
      const random = randomFrom(seed);
      while (next < RECORDS) {
        const n = next++;
        const from = random(services.length);
        const maker = services[from] as ChildService;
        const user = services[1 - from] as ChildService;
        await KINDS[n % KINDS.length]?.(n, maker, user);
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, (_, i) => client(SEED + i)));
    process.stdout.write(`used at once: ${RECORDS} records, ${uses} uses, ${waits} waits\n`);
    expect(refused).toEqual([]);
    for (const service of services)
      await expectProved(served(service, world.directory()), ['acme', 'desk']);
  },
);
