import type { IncomingMessage, ServerResponse } from 'node:http';

type Take = (request: IncomingMessage, response: ServerResponse) => void;

/** Takes a request that shows a credential when what is `awaited` has come: at once in nearly all cases. */
export const awaiting =
  (awaited: (() => Promise<void> | undefined) | undefined, take: Take): Take =>
  (request, response) => {
    const coming = request.headers.authorization === undefined ? undefined : awaited?.();
    if (!coming) take(request, response);
    // Of who has left meanwhile no body comes any more.
    else void coming.then(() => request.destroyed || take(request, response));
  };
