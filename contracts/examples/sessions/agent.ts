/** Shared by the example sessions: the service's origin, the key, and idempotency keys. */

const fail = (text: string): never => {
  throw new Error(text);
};

/** Reads the arguments of a session. Two runs have different intents; a retry within a run has the same. */
export const agentOf = (session: string) => {
  const run = process.argv[3] ?? String(process.hrtime.bigint());
  return {
    origin:
      process.argv[2] ?? fail('name the origin of the service, for example http://127.0.0.1:3000'),
    /** Keep it in a server-side secret, never in a browser or a URL. */
    key: process.env['SERVICE_API_KEY'] ?? fail('set SERVICE_API_KEY'),
    intent: (name: string): string => `example:${session}:${run}:${name}`,
    step: (name: string, status: number | string, shown: object): void => {
      process.stdout.write(`${JSON.stringify({ step: name, status, ...shown })}\n`);
    },
  };
};
