/** What the examples share: where the service is, the key, and names for intents. */

const fail = (text: string): never => {
  throw new Error(text);
};

/** `run` makes the intents of two runs different ones; a retry within a run has the same. */
export const agentOf = (session: string) => {
  const run = process.argv[3] ?? String(process.hrtime.bigint());
  return {
    origin: process.argv[2] ?? fail('say where the service is: http://127.0.0.1:3000'),
    /** From a server-side secret; never in a browser, never in a URL. */
    key: process.env['SERVICE_API_KEY'] ?? fail('set SERVICE_API_KEY'),
    intent: (name: string): string => `example:${session}:${run}:${name}`,
    step: (name: string, status: number | string, shown: object): void => {
      process.stdout.write(`${JSON.stringify({ step: name, status, ...shown })}\n`);
    },
  };
};
