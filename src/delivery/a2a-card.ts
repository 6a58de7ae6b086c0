/** Validation of another agent's card, which is untrusted input. */
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

/** Returns the first A2A 1.0 JSON-RPC interface on the card's own host, or the reason for having none. */
export const endpointOf = (json: unknown, cardUrl: string): Endpoint | { fault: string } => {
  const parsed = card.safeParse(json);
  if (!parsed.success) return { fault: 'card_invalid' };
  const usable = parsed.data.supportedInterfaces.filter(
    ({ protocolBinding, protocolVersion }) =>
      protocolBinding === 'JSONRPC' && protocolVersion === '1.0',
  );
  if (usable.length === 0) return { fault: 'card_without_jsonrpc' };
  // People approved this host and no other.
  const { origin } = new URL(cardUrl);
  const own = usable.find(({ url }) => URL.parse(url)?.origin === origin);
  if (!own) return { fault: 'card_names_other_host' };
  return { url: own.url, ...(own.tenant && { tenant: own.tenant }) };
};

const STATE =
  /^TASK_STATE_(?:SUBMITTED|WORKING|COMPLETED|FAILED|CANCELED|REJECTED|(?:INPUT|AUTH)_REQUIRED)$/;

/** The parts of SendMessage's answer that are used here. */
export const rpcAnswer = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.string(),
  error: z.object({ code: z.int() }).optional(),
  result: z
    .object({
      task: z
        .object({ id: z.string(), status: z.object({ state: z.string().regex(STATE) }) })
        .optional(),
      message: z.object({ messageId: z.string() }).optional(),
    })
    .optional(),
});
