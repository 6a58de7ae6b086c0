/** The servers that the services of a story talk to: webhooks and push notifications, and the mail server of its past. */
import type { ServerResponse } from 'node:http';
import { mailServer } from '../../support/dispatch/mail-server.ts';
import { receiver, type Received } from '../../support/world/receivers.ts';

/** What a receiver does with a request that says so, in its path or in its text; all others are accepted. */
const FAULTS: readonly [says: RegExp, act: (response: ServerResponse) => void][] = [
  [/\brefuses\b/, (response) => response.writeHead(400).end()],
  [/\bgone\b/, (response) => response.writeHead(410).end()],
  [/\bloses\b/, (response) => response.destroy()],
];

/** Starts the receiver of webhooks and push notifications; what says `busy` is accepted the second time. */
export const startHook = async (): Promise<string> => {
  const busy = new Set<string>();
  const { host } = await receiver({
    answer({ url, headers, body }: Received, response) {
      const says = `${url} ${body}`;
      const id = headers['webhook-id'] ?? headers['x-a2a-notification-id'] ?? '';
      if (/\bbusy\b/.test(says) && !busy.has(id)) {
        busy.add(id);
        response.writeHead(503).end();
        return;
      }
      const fault = FAULTS.find(([pattern]) => pattern.test(says));
      if (fault) fault[1](response);
      else response.writeHead(204).end();
    },
  });
  return host;
};

/** Starts a mail server that refuses letters to `refused@…`, and drops the connection of those to `lost@…`. */
export const startMailServer = async (): Promise<string> => {
  const server = await mailServer({}, (number, drop) => {
    const [to = ''] = server.received[number - 1]?.to ?? [];
    if (to.startsWith('lost@')) drop();
    return to.startsWith('refused@')
      ? Object.assign(new Error('No such mailbox'), { responseCode: 550 })
      : undefined;
  });
  return server.url;
};
