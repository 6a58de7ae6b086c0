/** Every write at the desk, each with a later change of the same record. */
import type { DeskOperationId } from '#contracts/registries/desk.ts';
import { feedProduct, freshKey, type TestApp } from './app.ts';
import { partitionOf } from '#src/ports/read-model.ts';
import { HANG_MS } from '../hang.ts';
import { FILES, post, proposed } from './outreach.ts';
import { outreachActs } from './outreach-acts.ts';
import { quoteFor } from './deals.ts';
import { buyerOver, quotationOver } from './server-over.ts';

const HOUR_MS = 3_600_000;

const PROFILE = { name: 'Acme Promotions', postal_address: '1 High Street\nLondon' };
/** The limit of the service that the scenes act on, in pence. */
export const APPROVAL_ABOVE = 1_000;

export type Asked = { path: string; body: object };
/** A write, another one that has the same key by mistake, and a later change of the record. */
export type Scene = { first: Asked; other: Asked; later: (id: string) => Asked };
type Scenes = Partial<Record<DeskOperationId, () => Promise<Scene>>>;
type Request = { id: string; content_sha256: string };

/**
 * Sends a write to the desk: with the machine's token, but with that of a second person for an approval of access, a lead or an RFQ,
 * and of the promoter acme for a decision on its outreach.
 */
export const atDesk = async (app: TestApp, { path, body }: Asked, idempotencyKey = freshKey()) =>
  app.send({
    method: 'POST',
    url: `/api/desk/v1${path}`,
    key: (await personFor(app, path)) ?? app.deskToken,
    payload: body,
    headers: { 'idempotency-key': idempotencyKey },
  });

/** What the machine cannot decide, by its path, and who does. */
const DECISIONS: readonly { path: RegExp; person: object }[] = [
  {
    path: /^\/projections\/.*\/approve$/,
    person: { name: 'Second Operator', roles: ['operator'] },
  },
  {
    path: /^\/(?:agents|leads|handoffs)\/.*\/approve$/,
    person: { name: 'Second Person', roles: ['staff'] },
  },
  {
    path: /^\/approvals\/.*\/(?:approve|refuse|request-changes|revise)$|\/automatic-delivery$/,
    person: { name: 'Promoter', roles: ['owner'], owner_id: 'acme' },
  },
];
/** Owners whose partitions an event of a scene parks, and those whose partitions must not be. */
const SCENE_OWNERS = ['acme', 'beta', 'anna', 'desk'];
const tokens = new WeakMap<TestApp, Map<object, Promise<string>>>();

/** The desk token of the person who decides, issued once for each app; undefined where the machine can. */
const personFor = (app: TestApp, path: string): Promise<string> | undefined => {
  const person = DECISIONS.find((decision) => decision.path.test(path))?.person;
  if (!person) return undefined;
  const known = tokens.get(app) ?? new Map<object, Promise<string>>();
  tokens.set(app, known);
  const token =
    known.get(person) ??
    app.desk('POST', '/desk-tokens', person).then(({ body }) => (body as { token: string }).token);
  known.set(person, token);
  return token;
};

const reason = 'Said so';
const to = (path: string, body: object = { reason }): Asked => ({ path, body });
const scene = (first: Asked, other: Asked, later: Scene['later'] | Asked): Scene => ({
  first,
  other,
  later: typeof later === 'function' ? later : () => later,
});
const access = (over: object = {}): Asked =>
  to('/agents', { owner_id: 'acme', name: 'A', purpose: 'P', scopes: ['leads:read'], ...over });
const grant = (name: string): Asked => to('/access-grants', access({ name, reason }).body);
const issue = (agent: string): Asked =>
  to(`/agents/${agent}/keys`, { environment: 'live', expires_in_days: 9 });
const token = (name: string): Asked => to('/desk-tokens', { name, roles: ['auditor'] });
export const imported = (sku: string, unit_price: number): Asked =>
  to('/products/import', {
    products: [feedProduct(sku, { price_tiers: [{ min_quantity: 4, unit_price }] })],
  });
const withdraw = (sku: string): Asked => to('/products/withdraw', { sku, reason });
const move = (id: string, state: string): Asked =>
  to(`/leads/${id}/move`, { owner_id: 'acme', to: state });
const owned = (kind: string, id: string, verb: string): Asked =>
  to(`/${kind}/${id}/${verb}`, { owner_id: 'acme', reason });
const erase = (subject: string): Asked =>
  to(`/subjects/${subject}/erase`, { owner_id: 'acme', reason });
const outreach = (mode: string): Asked =>
  to('/outreach/acme', { mode, approvals_required: 1, channels: FILES });
const automatic = (per_day: number): Asked => to('/outreach/acme/automatic-delivery', { per_day });
export const turn = (verb: 'halt' | 'resume', owner_id?: string, why = reason): Asked =>
  to(`/outreach-${verb}`, { reason: why, ...(owner_id !== undefined && { owner_id }) });
const profile = (owner: string): Asked =>
  to(`/owners/${owner}/profile`, { ...PROFILE, mailbox: `office@${owner}.example` });
const confirmMailbox = (owner: string): Asked =>
  to(`/owners/${owner}/mailbox/confirm`, { mailbox: `office@${owner}.example`, reason });
const removeProfile = (owner: string): Asked => to(`/owners/${owner}/profile/remove`);
const decide = (verb: string, { id, content_sha256 }: Request) =>
  to(`/approvals/${id}/${verb}`, { content_sha256, ...(SAID[verb] ?? { reason }) });
const SAID: Readonly<Record<string, object>> = { approve: {}, revise: { text: 'Mugs are here.' } };
const cancel = ({ id }: { id: string }): Asked => to(`/approvals/${id}/cancel`);
const observe = (id: string, outcome = 'confirmed'): Asked =>
  to(`/approvals/${id}/observe`, { owner_id: 'acme', outcome, evidence: 'Seen' });
const pair = async <T>(make: () => Promise<T>): Promise<[T, T]> => [await make(), await make()];
/** Creates two records of a kind, the first of which changes later. */
const either =
  <T>(make: () => Promise<T>, asked: (one: T) => Asked, later: (one: T) => Asked) =>
  async (): Promise<Scene> => {
    const [one, another] = await pair(make);
    return scene(asked(one), asked(another), later(one));
  };
const person = (action: string, name = 'ada'): Asked =>
  to(`/privacy/${action}`, { mailbox: `${name}@shop.example`, proof: reason });
const assign = (person?: string) => (id: string) =>
  to(`/plans/${id}/assign`, { ...(person !== undefined && { person }) });
const planStep = (id: string): Asked =>
  to(`/plans/${id}/next-step`, { due_at: '2026-12-01T09:00:00Z', step: 'Call' });
const endPerson = (id: string): Asked => to(`/people/${id}/end`);
const inviteAgain = (id: string): Asked => to(`/people/${id}/invite`, {});
const changeRoles = (id: string): Asked =>
  to(`/people/${id}/roles`, { roles: ['auditor'], reason });
let guests = 0;
/** Invites somebody whose name looks like no other. */
const guest = (): Asked => {
  guests += 1;
  const letters = String(guests).replaceAll(/\d/g, (digit) => 'BCDFGHJKLM'[Number(digit)] ?? '');
  const mailbox = `guest${guests}@shop.example`;
  return to('/people', { name: `Guest ${letters}`, mailbox, roles: ['staff'] });
};
const rebuild = (name: string): Asked => to(`/projections/${name}/rebuild`, {});
const decideBuild = (name: string, verb: string): Asked => to(`/projections/${name}/${verb}`, {});

/** Returns scenes of an owner whose outreach is configured; `key` belongs to one of its agents. */
export const deskScenes = (app: TestApp, key: string): { shownOnce: Scenes; repeated: Scenes } => {
  const well = async (asked: Asked): Promise<Record<string, string>> => {
    const { status, text, body } = await atDesk(app, asked);
    if (status >= 300) throw new Error(`${asked.path}: ${text}`);
    return body;
  };
  /** Holds a build of each of these, and waits until they are filled. */
  const holdBuilds = async (...names: string[]): Promise<void> => {
    const { projections } = app.service.deps;
    for (const name of names) {
      while (projections.isRebuilding(name)) await new Promise((turn) => setImmediate(turn));
      projections.hold(name);
      while (projections.isRebuilding(name)) await new Promise((turn) => setImmediate(turn));
    }
  };
  const requested = async (): Promise<string> => (await well(access())).id ?? '';
  const approved = async (): Promise<string> => {
    return (await well(grant('A'))).id ?? '';
  };
  const suspended = async (): Promise<string> => {
    const id = await approved();
    await well(to(`/agents/${id}/suspend`));
    return id;
  };
  const issued = async (): Promise<string> => (await well(issue(await approved()))).id ?? '';
  /** The invitation of each person, which brings one back who was ended. */
  const invitations = new Map<string, Asked>();
  const invited = async (): Promise<string> => {
    const asked = guest();
    const { id = '' } = await well(asked);
    invitations.set(id, asked);
    return id;
  };
  const tokenId = async (): Promise<string> => (await well(token('Ada'))).id ?? '';
  const product = async (): Promise<string> => {
    const sku = freshKey();
    await well(imported(sku, 100));
    return sku;
  };
  const created = async (path: string, payload: object): Promise<Record<string, string>> => {
    const { body, text } = await app.send({
      method: 'POST',
      url: `/api/affiliate/v1/${path}`,
      key,
      payload,
      headers: { 'idempotency-key': freshKey() },
    });
    if (!('id' in body)) throw new Error(text);
    return body;
  };
  const made = async (path: string, payload: object): Promise<string> =>
    (await created(path, payload)).id ?? '';
  const lead = () =>
    made('leads', { external_id: freshKey(), company: { name: 'Shop', country: 'GB' } });
  const LIST = { title: 'List', line_items: [{ sku: 'MUG-1', quantity: 4 }] };
  const handoff = () => made('handoffs', LIST);
  const leadAfter = (last: (id: string) => Asked) => async (): Promise<string> => {
    const id = await lead();
    for (const state of ['accepted', 'contacted', 'qualified']) await well(move(id, state));
    await well(last(id));
    return id;
  };
  const actOnLead = (verb: string, body: object) => (id: string) =>
    to(`/leads/${id}/${verb}`, { owner_id: 'acme', ...body });
  const proposedLead = leadAfter(
    actOnLead('move', { to: 'won', value: { amount: APPROVAL_ABOVE + 1, currency: 'GBP' } }),
  );
  const rfq = async (): Promise<string> => {
    const { id = '', review_url = '' } = await created('handoffs', LIST);
    const contact = { name: 'Bea', email: 'bea@shop.example' };
    await buyerOver(app.service.deps, review_url).request({
      list_revision: 1,
      consent: true,
      contact,
    });
    return id;
  };
  const actOnRfq = (verb: string, body: object) => (id: string) =>
    to(`/handoffs/${id}/rfq/${verb}`, body);
  const lose = actOnRfq('move', { to: 'lost' });
  const quote = (amount: number) => (id: string) => actOnRfq('quote', quoteFor(app, amount))(id);
  /** An RFQ whose buyer asked about the quotation. */
  const askedRfq = async (): Promise<string> => {
    const handoffId = await rfqAfter(quote(APPROVAL_ABOVE))();
    await quotationOver(app.service.deps, { ownerId: 'acme', handoffId }).ask('Are lids included?');
    return handoffId;
  };
  const rfqAfter = (act: (id: string) => Asked) => async (): Promise<string> => {
    const id = await rfq();
    await well(act(id));
    return id;
  };
  /** A won RFQ after some acts on its goods. */
  const wonRfq =
    (...acts: ((id: string) => Asked)[]) =>
    async (): Promise<string> => {
      const handoffId = await rfqAfter(quote(APPROVAL_ABOVE))();
      await quotationOver(app.service.deps, { ownerId: 'acme', handoffId }).agree();
      for (const act of [actOnRfq('move', { to: 'won' }), ...acts]) await well(act(handoffId));
      return handoffId;
    };
  const goods = (verb: string, quantity = 1, more: object = {}) =>
    actOnRfq(verb, { lines: [{ line_id: '1', quantity }], ...more });
  const sold = actOnRfq('allocate', { lines: [{ line_id: '1' }] });
  const sent = actOnRfq('ship', {});
  const proposedRfq = rfqAfter((id) => quote(APPROVAL_ABOVE + 1)(id));
  const link = () => made('links', { target: { kind: 'search', ref: 'mugs' } });
  const request = async (): Promise<Request> => proposed(app, key, 'requestSocialPost', post());
  const decided = (verb: string) => async (): Promise<Scene> => {
    const [one, another] = [await request(), await request()];
    return scene(decide(verb, one), decide(verb, another), cancel(one));
  };
  /** Creates a request whose outcome is unknown. */
  const lost = async (): Promise<string> => {
    const { log, ids, clock } = app.service.deps;
    const acts = outreachActs({ log, ids, now: clock.now });
    const id = await acts.propose('acme', { adapter: 'file' });
    await acts.approve('acme', id);
    const { content_sha256: contentSha256 } = await acts.state('acme', id);
    const at = clock.now();
    await acts.command('acme', id, { type: 'Dispatch', at, contentSha256, until: at + HOUR_MS });
    await acts.command('acme', id, { type: 'LoseTrack', attempt: 1, reason });
    return id;
  };
  const parkedPartitions = new Set(SCENE_OWNERS.map(partitionOf));
  /** Appends an event that links and codes cannot fold, in a partition that no scene needs. */
  const poisoned = async (): Promise<string> => {
    const { log, ids, following } = app.service.deps;
    let n = 0;
    while (parkedPartitions.has(partitionOf(`poisoned${n}`))) n += 1;
    parkedPartitions.add(partitionOf(`poisoned${n}`));
    const id = ids.uuid();
    const data = { link_id: `lnk_${'0'.repeat(24)}`, code: `poisoned${n}`, reason };
    const meta = { at: app.clock.now(), actor: 'x', surface: 'cli', operation: 'x', request: 'r' };
    const result = await log.append(`poisoned${n}-link_${'0'.repeat(24)}`, -1, [
      { id, type: 'LinkDisabled', data, meta: { ...meta, v: 1 } },
    ]);
    if (result.outcome !== 'appended') throw new Error('the stream was taken');
    await following.passed(result.position, HANG_MS);
    return id;
  };
  const skip = (event: string, name = 'links'): Asked =>
    to(`/projections/${name}/skip`, { event, reason });
  const approveSkip = (event: string, name = 'links'): Asked =>
    to(`/projections/${name}/skip/approve`, { event });
  const retry = (name?: string): Asked => to('/projections/retry', name ? { name } : {});
  const shownOnce: Scenes = {
    issueKey: either(approved, issue, (id) => to(`/agents/${id}/suspend`)),
    rotateKey: either(
      issued,
      (id) => to(`/keys/${id}/rotate`, { overlap_hours: 1, expires_in_days: 9 }),
      (id) => to(`/keys/${id}/revoke`),
    ),
    issueDeskToken: async () =>
      scene(token('Ada'), token('Bob'), (id) => to(`/desk-tokens/${id}/revoke`)),
  };
  const repeated: Scenes = {
    requestAccess: async () =>
      scene(access(), access({ name: 'B' }), (id) => to(`/agents/${id}/approve`)),
    approveAccess: either(
      requested,
      (id) => to(`/agents/${id}/approve`),
      (id) => to(`/agents/${id}/suspend`),
    ),
    grantAccess: async () => scene(grant('A'), grant('B'), (id) => to(`/agents/${id}/suspend`)),
    denyAccess: either(
      requested,
      (id) => to(`/agents/${id}/deny`),
      (agent_id) => access({ agent_id }),
    ),
    suspendAgent: either(
      approved,
      (id) => to(`/agents/${id}/suspend`),
      (id) => to(`/agents/${id}/reinstate`),
    ),
    reinstateAgent: either(
      suspended,
      (id) => to(`/agents/${id}/reinstate`),
      (id) => to(`/agents/${id}/suspend`),
    ),
    revokeKey: either(
      issued,
      (id) => to(`/keys/${id}/revoke`),
      (id) => to(`/keys/${id}/revoke`),
    ),
    revokeDeskToken: either(
      tokenId,
      (id) => to(`/desk-tokens/${id}/revoke`),
      (id) => to(`/desk-tokens/${id}/revoke`),
    ),
    invitePerson: async () => scene(guest(), guest(), endPerson),
    invitePersonAgain: either(invited, inviteAgain, endPerson),
    changePersonRoles: either(invited, changeRoles, endPerson),
    endPerson: either(invited, endPerson, (id) => invitations.get(id) ?? endPerson(id)),
    importProducts: either(
      product,
      (sku) => imported(sku, 90),
      (sku) => imported(sku, 80),
    ),
    withdrawProduct: either(product, withdraw, (sku) => imported(sku, 70)),
    moveLead: either(
      lead,
      (id) => move(id, 'accepted'),
      (id) => move(id, 'contacted'),
    ),
    correctLead: either(
      leadAfter(actOnLead('move', { to: 'lost' })),
      actOnLead('correct', { to: 'qualified', reason }),
      actOnLead('move', { to: 'unqualified' }),
    ),
    approveLeadMove: either(
      proposedLead,
      actOnLead('approve', { proposal: 1 }),
      actOnLead('correct', { to: 'won', reason }),
    ),
    refuseLeadMove: either(
      proposedLead,
      actOnLead('refuse', { proposal: 1, reason }),
      actOnLead('move', { to: 'lost' }),
    ),
    moveRfq: either(rfq, actOnRfq('move', { to: 'in_progress' }), lose),
    quoteRfq: either(rfq, quote(APPROVAL_ABOVE), lose),
    answerQuestion: either(
      askedRfq,
      actOnRfq('answer', { question: 1, answer: 'They are.' }),
      lose,
    ),
    allocateGoods: either(wonRfq(), goods('allocate'), goods('allocate')),
    shipGoods: either(wonRfq(sold), goods('ship'), actOnRfq('deliver', { shipment: 1 })),
    deliverGoods: either(
      wonRfq(sold, sent),
      actOnRfq('deliver', { shipment: 1 }),
      goods('return', 1, { reason }),
    ),
    cancelGoods: either(
      wonRfq(),
      goods('cancel', 1, { reason }),
      actOnRfq('correct', { to: 'withdrawn', reason }),
    ),
    returnGoods: either(
      wonRfq(sold, sent),
      goods('return', 1, { reason }),
      actOnRfq('deliver', { shipment: 1 }),
    ),
    correctRfq: either(
      rfqAfter(lose),
      actOnRfq('correct', { to: 'withdrawn', reason }),
      actOnRfq('correct', { to: 'in_progress', reason }),
    ),
    approveRfqMove: either(proposedRfq, actOnRfq('approve', { proposal: 1 }), lose),
    refuseRfqMove: either(proposedRfq, actOnRfq('refuse', { proposal: 1, reason }), lose),
    assignRecord: either(lead, assign('the machine'), assign()),
    addNote: either(
      lead,
      (id) => to(`/plans/${id}/notes`, { note: 'Called' }),
      (id) => to(`/plans/${id}/notes`, { note: 'Called again' }),
    ),
    planNextStep: either(lead, planStep, (id) => to(`/plans/${id}/next-step/done`, {})),
    endNextStep: either(
      async () => {
        const id = await lead();
        await well(planStep(id));
        return id;
      },
      (id) => to(`/plans/${id}/next-step/done`, {}),
      planStep,
    ),
    withdrawHandoff: either(handoff, (id) => owned('handoffs', id, 'withdraw'), erase),
    invalidateHandoff: either(handoff, (id) => owned('handoffs', id, 'invalidate'), erase),
    disableLink: either(
      link,
      (id) => owned('links', id, 'disable'),
      (id) => owned('links', id, 'disable'),
    ),
    eraseSubject: either(lead, erase, erase),
    findPersonalData: async () => scene(person('find'), person('find', 'bob'), person('find')),
    exportPersonalData: async () =>
      scene(person('export'), person('export', 'bob'), person('export')),
    refuseContact: async () => scene(person('withdraw'), person('withdraw', 'bob'), person('lift')),
    allowContact: async () => scene(person('lift'), person('lift', 'bob'), person('withdraw')),
    erasePersonalData: async () => scene(person('erase'), person('erase', 'bob'), person('find')),
    configureOutreach: async () =>
      scene(outreach('owner_controlled'), outreach('admin_approved'), turn('halt')),
    setAutomaticDelivery: async () => scene(automatic(5), automatic(6), automatic(7)),
    haltOutreach: async () =>
      scene(turn('halt', 'acme'), turn('halt', 'beta'), turn('resume', 'acme')),
    resumeOutreach: async () =>
      scene(turn('resume', 'acme'), turn('resume', 'beta'), turn('halt', 'acme')),
    approveOutbound: decided('approve'),
    refuseOutbound: either(
      request,
      (one) => decide('refuse', one),
      () => turn('halt', 'acme'),
    ),
    requestOutboundChanges: decided('request-changes'),
    reviseOutbound: decided('revise'),
    cancelOutbound: either(request, cancel, cancel),
    observeOutbound: either(lost, observe, observe),
    setOwnerProfile: async () => scene(profile('acme'), profile('beta'), removeProfile('acme')),
    confirmOwnerMailbox: async () => {
      for (const owner of ['acme', 'beta']) await atDesk(app, profile(owner));
      return scene(confirmMailbox('acme'), confirmMailbox('beta'), removeProfile('acme'));
    },
    removeOwnerProfile: async () => {
      for (const owner of ['acme', 'beta']) await atDesk(app, profile(owner));
      return scene(removeProfile('acme'), removeProfile('beta'), profile('acme'));
    },
    acceptClock: async () => {
      const { log, ids, clock } = app.service.deps;
      const meta = { at: clock.now() + 24 * HOUR_MS, actor: 'desk:t', surface: 'desk' };
      const data = { stream: 's', fingerprint: 'f' };
      await log.append(`acme-key_${freshKey()}`, -1, [
        {
          id: ids.uuid(),
          type: 'RequestBound',
          data,
          meta: { ...meta, operation: 'moveLead', request: 'r', v: 1 },
        },
      ]);
      const accept = (why: string) => to('/clock/accept', { reason: why });
      return scene(accept('Right'), accept('Correct'), turn('halt', 'acme'));
    },
    limitFills: async () => {
      // No fill of a test is long enough.
      app.service.deps.projections.fills.isFilling = () => true;
      const limit = (body: object) => to('/projections/fills', body);
      return scene(
        limit({ paused: true }),
        limit({ events_per_second: 9 }),
        limit({ paused: false, events_per_second: 0 }),
      );
    },
    switchBuild: async () => {
      await holdBuilds('leads', 'links');
      return scene(
        decideBuild('leads', 'switch'),
        decideBuild('links', 'switch'),
        rebuild('codes'),
      );
    },
    dropBuild: async () => {
      await holdBuilds('leads', 'links');
      return scene(decideBuild('leads', 'drop'), decideBuild('links', 'drop'), rebuild('codes'));
    },
    rebuildProjection: async () => scene(rebuild('leads'), rebuild('links'), rebuild('leads')),
    retryParked: async () => {
      await poisoned();
      return scene(retry('links'), retry('codes'), retry());
    },
    proposeSkip: either(poisoned, skip, approveSkip),
    approveSkip: async () => {
      const event = await poisoned();
      await well(skip(event));
      return scene(approveSkip(event), approveSkip(event, 'codes'), retry('links'));
    },
  };
  return { shownOnce, repeated };
};
