import type { OperationId } from '#contracts/registries/agents.ts';
import type { Outbound } from '#contracts/outreach/records.ts';
import { authenticator } from '#src/calls/authenticate.ts';
import type { Surface } from '#src/shared/call.ts';
import type { Outcome } from '#src/shared/outcome.ts';
import { freshKey, type TestApp } from './app.ts';

/** Channels that write to the outbox. */
export const FILES = ['social_post', 'message', 'agent_notification'].map((kind) => ({
  kind,
  adapter: 'file',
}));

/** Configures the owner's outreach: approved by one person and sent to the outbox, unless `over` differs. */
export const configure = async (app: TestApp, owner: string, over: object = {}): Promise<void> => {
  const settings = { mode: 'owner_controlled', approvals_required: 1, channels: FILES, ...over };
  const { status, text } = await app.desk('POST', `/outreach/${owner}`, settings);
  if (status !== 200) throw new Error(text);
};

let people = 0;
/** Issues a desk token for a person with a unique name. */
export const person = async (
  app: TestApp,
  roles: readonly string[],
  owner?: string,
): Promise<string> => {
  people += 1;
  const request = {
    name: `Person ${people}`,
    roles,
    ...(owner !== undefined && { owner_id: owner }),
  };
  const { body, text } = await app.desk('POST', '/desk-tokens', request);
  const { token } = body as { token?: string };
  if (token === undefined) throw new Error(text);
  return token;
};

/** Performs an agent's call by the pipeline that every interface uses. */
export const asAgent = (
  app: TestApp,
  key: string,
  id: OperationId,
  input: Record<string, unknown>,
  surface: Surface = 'mcp',
): Promise<Outcome<never>> => {
  const { deps, app: application } = app.service;
  const caller = authenticator(deps).agent(key);
  if (!caller.ok) throw new Error(caller.code);
  const requestId = deps.ids.uuid();
  const incoming = { caller: caller.value, surface, requestId, input };
  return application.agents.performAs(id, incoming) as never;
};

/** Proposes a request and returns it. Throws when it is refused. */
export const proposed = async (
  app: TestApp,
  key: string,
  id: OperationId,
  input: Record<string, unknown>,
): Promise<Outbound> => {
  const outcome = await asAgent(app, key, id, input);
  if (!outcome.ok)
    throw new Error(`${outcome.code}: ${outcome.detail} ${JSON.stringify(outcome.errors)}`);
  return outcome.value;
};

export const post = (over: object = {}): Record<string, unknown> => ({
  idempotency_key: freshKey(),
  network: 'mastodon',
  account_ref: 'shop',
  text: 'Mugs are back in stock.',
  ...over,
});
