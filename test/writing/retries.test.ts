/** A repeated write at the desk returns the first answer, regardless of later changes, and appends nothing. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type DeskOperationId, deskOperations } from '#contracts/registries/desk.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import {
  APPROVAL_ABOVE,
  atDesk,
  deskScenes,
  type Scene,
  turn,
} from '../support/world/desk-scenes.ts';
import { configure } from '../support/world/outreach.ts';

const HOUR_MS = 3_600_000;

let app: TestApp;
let scenes: ReturnType<typeof deskScenes>;
beforeAll(async () => {
  app = await testApp({
    OUTREACH_PER_MINUTE: '100000',
    WRITES_PER_MINUTE: '100000',
    APPROVAL_ABOVE: `${APPROVAL_ABOVE / 100} GBP`,
  });
  await app.publish([feedProduct('MUG-1')]);
  await configure(app, 'acme');
  scenes = deskScenes(app, (await app.agent('acme')).key);
});
afterAll(() => app.close());
afterEach(async () => {
  for (const owner of ['acme', undefined]) await atDesk(app, turn('resume', owner));
});

/** A token has no session, no passkey and no account; test/people repeats these. */
const OF_A_PERSON: ReadonlySet<string> = new Set(['endSession', 'removePasskey', 'unlinkAccount']);
/** What a token can do; what a person does on a page alone is sent twice in the tests of the page. */
const WRITES = Object.values(deskOperations)
  .filter(
    (operation) =>
      operation.kind === 'command' && !('isOnPage' in operation) && !OF_A_PERSON.has(operation.id),
  )
  .map(({ id }) => id);

const sceneOf = async (id: DeskOperationId): Promise<Scene> => {
  const make = scenes.repeated[id] ?? scenes.shownOnce[id];
  if (!make) throw new Error(`no scene of ${id}`);
  return make();
};
const head = async (): Promise<number> => (await app.service.deps.log.head()).position;
/** The request ids of the events after `position`, without audit records. */
const writersSince = async (position: number): Promise<string[]> => {
  const events = await app.service.deps.log.readAll({ after: position, limit: 1_000 });
  return events.flatMap(({ type, meta }) =>
    /^(ActivityRecorded|CallsAudited)$/.test(type) ? [] : [meta.request],
  );
};

describe.each(WRITES)('The desk operation %s', (id) => {
  it('A desk operation answers a retry like the first call and appends nothing, even after later changes', async () => {
    const { first, later, other } = await sceneOf(id);
    const key = freshKey();
    const answer = await atDesk(app, first, key);
    expect(answer.status, answer.text).toBeLessThan(300);
    const idleKey = freshKey();
    const idle = id in scenes.repeated ? await atDesk(app, first, idleKey) : answer;
    const then = await atDesk(app, later((answer.body as { id: string }).id));
    expect(then.status, then.text).toBeLessThan(300);
    app.clock.advance(HOUR_MS);
    const before = await head();
    const again = await atDesk(app, first, key);
    if (id in scenes.shownOnce) expect(again.status).toBe(409);
    else {
      expect([again.status, again.text]).toEqual([answer.status, answer.text]);
      expect(again.headers['idempotent-replayed']).toBe('true');
      // A call that had nothing to do also gets its first answer again, whatever the state is now.
      if (idle.status < 300) expect((await atDesk(app, first, idleKey)).text).toBe(idle.text);
    }
    expect((await atDesk(app, other, key)).body).toMatchObject({ code: 'idempotency_key_reused' });
    expect(await writersSince(before)).toEqual([]);
  });

  it('A desk operation writes once when two calls with one key arrive at once', async () => {
    const { first } = await sceneOf(id);
    const key = freshKey();
    const [one, two] = await Promise.all([atDesk(app, first, key), atDesk(app, first, key)]);
    const once = id in scenes.shownOnce;
    expect([one.status, two.status].filter((status) => status < 300)).toHaveLength(once ? 1 : 2);
    if (!once) expect(two.text).toBe(one.text);
    const before = await head();
    await atDesk(app, first, key);
    expect(await writersSince(before)).toEqual([]);
  });

  it('A desk operation refuses one of two different calls with one key that arrive at once', async () => {
    const { first, other } = await sceneOf(id);
    const key = freshKey();
    const before = await head();
    const answers = await Promise.all([first, other].map((call) => atDesk(app, call, key)));
    const refused = answers.filter(({ status }) => status >= 300);
    expect(refused.map(({ body }) => body)).toMatchObject([{ code: 'idempotency_key_reused' }]);
    const [{ request_id = '' } = {}] = refused.map(({ body }) => body as { request_id?: string });
    expect(await writersSince(before)).not.toContain(request_id);
  });
});
