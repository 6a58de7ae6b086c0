/** Another agent's card, read as what it is: input of a stranger. */
import { z } from 'zod';

const CARD_LIST_MAX = 100;
const short = z.string().max(2_048);

const card = z.object({
  name: short,
  description: z.string().max(16_384),
  version: short,
  supportedInterfaces: z
    .array(
      z.object({
        url: short,
        protocolBinding: short,
        protocolVersion: short,
        tenant: short.optional(),
      }),
    )
    .min(1)
    .max(CARD_LIST_MAX),
  capabilities: z.object({}),
  defaultInputModes: z.array(short).max(CARD_LIST_MAX),
  defaultOutputModes: z.array(short).max(CARD_LIST_MAX),
  skills: z.array(z.object({ id: short, name: short })).max(1_000),
});

export type Endpoint = { url: string; tenant?: string };

/** The first JSON-RPC interface of A2A 1.0 on the host of the card itself; or what is wrong. */
export const endpointOf = (read: unknown, cardUrl: string): Endpoint | { fault: string } => {
  const parsed = card.safeParse(read);
  if (!parsed.success) return { fault: 'card_invalid' };
  const fit = parsed.data.supportedInterfaces.filter(
    ({ protocolBinding, protocolVersion }) =>
      protocolBinding === 'JSONRPC' && protocolVersion === '1.0',
  );
  if (fit.length === 0) return { fault: 'card_without_jsonrpc' };
  // A card may not send us elsewhere: people approved this host.
  const found = fit.find(({ url }) => URL.canParse(url) && originOf(url) === originOf(cardUrl));
  if (!found) return { fault: 'card_names_other_host' };
  const { url, tenant } = found;
  return { url, ...(tenant !== undefined && tenant !== '' && { tenant }) };
};

const originOf = (url: string): string => new URL(url).origin;

const STATES = [
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_REJECTED',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_AUTH_REQUIRED',
] as const;

/** What SendMessage answers, as far as we rely on it. */
export const rpcAnswer = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.string(),
  error: z.object({ code: z.int() }).optional(),
  result: z
    .object({
      task: z.object({ id: z.string(), status: z.object({ state: z.enum(STATES) }) }).optional(),
      message: z.object({ messageId: z.string() }).optional(),
    })
    .optional(),
});
