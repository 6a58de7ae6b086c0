/** The second part of the pinned log: outreach, tasks of A2A, and audit records. */
import type { EventData } from '#contracts/registries/events.ts';
import { MIDNIGHT } from '../world/fold.ts';
import { HOUR_MS, story, type Told } from './pinned-story.ts';

const ofRequest = (n: number) => ({ outbound_id: `out_${n}`, agent_id: 'agt_1' });
const SHA = 'ab'.repeat(32);

const post = (n: number, more: Partial<EventData<'OutboundProposed'>> = {}) => ({
  ...ofRequest(n),
  kind: 'message' as const,
  target: { channel: 'email', list: 'shops' },
  content: { subject: 'Mugs', text: 'New mugs', link_ids: ['lnk_1'] },
  schedule: { not_after: MIDNIGHT + 48 * HOUR_MS },
  via: { adapter: 'webhook' as const, url: 'https://send.example' },
  content_sha256: SHA,
  revision: 1,
  approval: { mode: 'owner_controlled', required: 1 },
  ...more,
});
const decided = (n: number) => ({
  ...ofRequest(n),
  by: 'tok_1',
  name: 'Anna',
  person_id: 'name:anna',
  role: 'owner',
  revision: 1,
  content_sha256: SHA,
});
const approved = (n: number): Told => ['OutboundApproved', { ...decided(n), note: 'go' }];
const sent = (n: number, attempt = 1): Told => [
  'OutboundDispatched',
  {
    ...ofRequest(n),
    revision: 1,
    content_sha256: SHA,
    attempt,
    adapter: 'webhook',
    until: MIDNIGHT + HOUR_MS,
  },
];

export const OUTREACH = [
  story(
    'anna-outreach_settings',
    [
      'OutreachConfigured',
      {
        mode: 'owner_controlled',
        approvals_required: 1,
        channels: { message: { adapter: 'file' } },
      },
    ],
    ['OutreachHalted', { reason: 'look' }],
    ['OutreachResumed', { reason: 'looked' }],
    ['OutreachChannelDisabled', { kind: 'message', reason: 'over' }],
    ['AutomaticDeliverySet', { per_day: 5 }],
  ),
  story('anna-deliveries_20261121', ['DeliveryCounted', { outbound_id: 'out_1' }]),
  story(
    'anna-outbound_1',
    ['OutboundProposed', post(1, { task_id: 'tsk_2', context_id: 'ctx_1', external_id: 'ext-1' })],
    ['OutboundChangesRequested', { ...decided(1), reason: 'shorter' }],
    ['OutboundRevised', post(1, { revision: 2, task_id: 'tsk_2' })],
    ['OutboundApproved', { ...decided(1), revision: 2, task_id: 'tsk_2' }],
    sent(1),
    [
      'OutboundDeferred',
      {
        ...ofRequest(1),
        attempt: 1,
        reason: 'busy',
        uncertain: true,
        retry_at: MIDNIGHT + HOUR_MS,
      },
    ],
    sent(1, 2),
    ['OutboundConfirmed', { ...ofRequest(1), attempt: 2, evidence: 'id 7', task_id: 'tsk_2' }],
  ),
  story(
    'anna-outbound_2',
    ['OutboundProposed', post(2)],
    ['OutboundRejected', { ...decided(2), reason: 'not ours' }],
  ),
  story('anna-outbound_3', ['OutboundProposed', post(3)], ['OutboundExpired', ofRequest(3)]),
  story('anna-outbound_4', ['OutboundProposed', post(4)], approved(4), [
    'OutboundCanceled',
    { ...ofRequest(4), by: 'agt_1', reason: 'sold out' },
  ]),
  story('anna-outbound_5', ['OutboundProposed', post(5)], approved(5), sent(5), [
    'OutboundFailed',
    { ...ofRequest(5), attempt: 1, reason: 'refused' },
  ]),
  story('anna-outbound_6', ['OutboundProposed', post(6)], approved(6), sent(6), [
    'OutboundOutcomeUnknown',
    { ...ofRequest(6), attempt: 1, reason: 'no answer' },
  ]),
  story('bert-outbound_7', ['OutboundProposed', post(7, { agent_id: 'agt_2' })]),
];

const ofTask = (n: number) => ({ task_id: `tsk_${n}`, context_id: 'ctx_1', agent_id: 'agt_1' });
const received = (n: number): Told => [
  'TaskReceived',
  { ...ofTask(n), skill: 'create_link', missing: ['target'] },
];

export const TASKS = [
  story('anna-task_3', received(3), [
    'TaskCompleted',
    { ...ofTask(3), artifact: { name: 'products', content: '[]', cut: true } },
  ]),
  story('anna-task_4', received(4), ['TaskRejected', { ...ofTask(4), code: 'forbidden' }]),
  story('anna-task_5', received(5), ['TaskCanceled', ofTask(5)]),
  story('anna-task_6', ['TaskReceived', { ...ofTask(6), record: 'hnd_3' }]),
];

const ofPush = (n: number) => ({ push_id: `psh_${n}`, task: 'tsk_2', agent_id: 'agt_1' });
const registered = (n: number, more: Partial<EventData<'PushConfigCreated'>> = {}): Told => [
  'PushConfigCreated',
  {
    ...ofPush(n),
    config_id: `cfg_${n}`,
    key_id: 'key_a',
    url: `https://hook.example/${n}`,
    after: 0,
    ...more,
  },
];
const notified = (attempt: number) => ({ ...ofPush(1), change: 1, attempt });

export const PUSH = [
  story(
    'anna-push_1',
    registered(1, {
      scheme: 'Bearer',
      sealed_for: 'psk_1',
      sealed_token: 's1.psk_1.token',
      sealed_credentials: 's1.psk_1.credentials',
    }),
    ['PushDispatched', { ...notified(1), until: MIDNIGHT + HOUR_MS }],
    ['PushDeferred', { ...notified(1), reason: 'timeout', retry_at: MIDNIGHT, uncertain: true }],
    ['PushDispatched', { ...notified(2), until: MIDNIGHT + HOUR_MS }],
    ['PushDelivered', { ...notified(2), evidence: 'http_204' }],
    registered(1, { url: 'https://other.example/1' }),
    ['PushConfigDeleted', ofPush(1)],
    registered(1, { after: 1 }),
  ),
  story('anna-push_2', registered(2), ['PushFailed', { ...notified(1), reason: 'http_404' }]),
  story(
    'bert-push_3',
    registered(3),
    ['PushOutcomeUnknown', { ...notified(1), reason: 'timeout' }],
    ['PushConfigDeleted', { ...ofPush(3), reason: 'key_ended' }],
  ),
];

const queued = (n: number): Told => [
  'MailQueued',
  {
    mail_id: `mal_${n}`,
    kind: 'rfq_notice',
    record: 'hnd_3',
    sealed_for: 'mbx_staff',
    sealed_message: 's1.mbx_staff.message',
    is_repeatable: true,
    not_after: MIDNIGHT + 72 * HOUR_MS,
  },
];
const mailed = (n: number, attempt = 1): Told => [
  'MailDispatched',
  { mail_id: `mal_${n}`, attempt, until: MIDNIGHT + HOUR_MS },
];
const ofMail = (n: number, attempt = 1) => ({ mail_id: `mal_${n}`, attempt });

export const MAIL = [
  story(
    'anna-mail_1',
    queued(1),
    mailed(1),
    ['MailDeferred', { ...ofMail(1), reason: 'smtp_451', retry_at: MIDNIGHT, uncertain: true }],
    mailed(1, 2),
    ['MailSent', { ...ofMail(1, 2), evidence: 'smtp_250' }],
  ),
  story('anna-mail_2', queued(2), mailed(2), ['MailFailed', { ...ofMail(2), reason: 'smtp_550' }]),
  story('bert-mail_3', queued(3), mailed(3), [
    'MailOutcomeUnknown',
    { ...ofMail(3), reason: 'smtp_econnection' },
  ]),
  story('bert-mail_4', queued(4)),
];

const PROFILE = {
  sealed_for: 'own_1',
  sealed_profile: 's1.own_1.profile',
  mailbox_keys: { address: '1.a', mailbox: '1.m' },
};

export const OWNERS = [
  story(
    'anna-owner_profile',
    ['OwnerProfileSet', PROFILE],
    ['OwnerMailboxConfirmed', { sealed_reason: 's1.own_1.why' }],
    [
      'OwnerProfileSet',
      {
        ...PROFILE,
        keeps_mailbox: true,
        attribution_days: 7,
        fallback: { kind: 'search', ref: 'mugs' },
        answers: { sealed_for: 'ans_1', are_recorded: true },
      },
    ],
    ['OwnerProfileRemoved', { reason: 'left' }],
  ),
];

const APPLICATION = {
  sealed_application: 's1.apl_1.application',
  mailbox_keys: { address: '1.address', mailbox: '1.mailbox' },
  expires_at: MIDNIGHT,
};

export const APPLICATIONS = [
  story(
    'desk-application_1',
    ['ApplicationReceived', { ...APPLICATION, application_id: 'apl_1' }],
    ['ApplicationConfirmed', { application_id: 'apl_1', owner_id: 'cora', agent_id: 'agt_9' }],
    ['SubjectErased', { subject: 'apl_1', reason: 'It was confirmed.' }],
  ),
  story('desk-application_2', ['ApplicationReceived', { ...APPLICATION, application_id: 'apl_2' }]),
];

const PERSON = {
  name: 'Ann Lee',
  sealed_for: 'psn_1',
  sealed_mailbox: 's1.psn_1.mailbox',
  mailbox_keys: { address: '1.ann', mailbox: '1.ann' },
};
const INVITATION = { invitation_id: 'inv1', expires_at: MIDNIGHT + 24 * HOUR_MS };
const ann = { person_id: 'per_1' };
const PASSKEY = { ...ann, passkey_id: 'pk1', counter: 1 };
const USED = { session_id: 'ses1', ...ann, sealed_client: 's1.psn_1.client', place_key: 'p1' };

/** People who sign in, with their sessions. */
export const PEOPLE = [
  story(
    'desk-person_1',
    [
      'PersonInvited',
      {
        ...ann,
        ...PERSON,
        roles: ['staff'],
        owners: [],
        invited_by: 'desk:t1',
        invitation: INVITATION,
      },
    ],
    ['PersonInvitedAgain', { ...ann, invitation: { ...INVITATION, invitation_id: 'inv2' } }],
    ['PersonJoined', ann],
    [
      'PasskeyAdded',
      { ...PASSKEY, public_key: 'key', transports: ['usb'], sealed_name: 's1.psn_1.name' },
    ],
    ['PasskeyUsed', { ...PASSKEY, counter: 2 }],
    ['PasskeyRefused', { ...ann, passkey_id: 'pk1' }],
    ['AccountLinked', { ...ann, issuer: 'https://id.example', sealed_subject: 's1.psn_1.sub' }],
    ['PersonRolesChanged', { ...ann, roles: ['auditor'], owners: [], reason: 'moved' }],
    ['PasskeyRemoved', { ...ann, passkey_id: 'pk1' }],
    ['AccountUnlinked', { ...ann, issuer: 'https://id.example' }],
    ['PersonEnded', { ...ann, reason: 'left', erased: 'psn_1' }],
  ),
  story('desk-person_2', [
    'PersonRecognized',
    {
      ...PERSON,
      person_id: 'per_2',
      name: 'anna',
      sealed_for: 'psn_2',
      roles: ['owner'],
      owners: ['anna'],
      by: 'owner_mailbox',
    },
  ]),
  story(
    'desk-session_ses1',
    [
      'SessionStarted',
      {
        ...USED,
        used_in: 'browser',
        way: 'mailed_link',
        hash: 'h1',
        expires_at: MIDNIGHT + 24 * HOUR_MS,
        rights: 0,
      },
    ],
    ['SessionUsed', { ...USED, place_key: 'p2' }],
    ['SessionEnded', { session_id: 'ses1', ...ann, by: 'sign_out' }],
  ),
  story(
    'desk-signin_1',
    [
      'SignInStarted',
      {
        sign_in_id: 'sgn_1',
        sealed_for: 'psn_1',
        sealed_mailbox: 's1.psn_1.mailbox',
        expires_at: MIDNIGHT + HOUR_MS,
      },
    ],
    ['SignInCodeRefused', { sign_in_id: 'sgn_1' }],
    ['SignInUsed', { sign_in_id: 'sgn_1', ...ann, session_id: 'ses1' }],
  ),
  story(
    'desk-login_1',
    [
      'DeviceLoginStarted',
      {
        login_id: 'dlg_1',
        sealed_client: 's1.dlg_1.client',
        expires_at: MIDNIGHT + HOUR_MS,
      },
    ],
    ['DeviceLoginAllowed', { login_id: 'dlg_1', ...ann, session_id: 'ses2' }],
  ),
  story('desk-login_2', ['DeviceLoginDenied', { login_id: 'dlg_2', ...ann }]),
];

export const RECORD = [
  story('notary-tree_1', ['TreeMarked', {}]),
  story('anna-activity_1.0', [
    'ActivityRecorded',
    {
      agent_id: 'agt_1',
      entries: [
        {
          operation: 'searchProducts',
          surface: 'mcp',
          key_id: 'key_a',
          decision: 'refused',
          code: 'rate_limited',
          request_id: 'req_1',
          at: MIDNIGHT,
          count: 3,
        },
      ],
    },
  ]),
  story('anna-bound_1', ['RequestBound', { stream: 'anna-link_1', fingerprint: 'f', revision: 1 }]),
  story('desk-audit_tok_1_20778', [
    'CallsAudited',
    {
      actor: 'desk',
      entries: [
        {
          operation: 'auditState',
          surface: 'cli',
          decision: 'allowed',
          asked: '{"owner_id":"anna"}',
          request_id: 'req_2',
          at: MIDNIGHT,
          count: 1,
        },
      ],
    },
  ]),
  story('desk-clock_1', [
    'ClockAccepted',
    { position: 1, event_at: MIDNIGHT, reason: 'The clock was ahead' },
  ]),
];
