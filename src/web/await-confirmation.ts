import type { IncomingMessage, ServerResponse } from 'node:http';

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Delays requests with a credential until `awaited` resolves: nearly always it is undefined, and the request is
 * handled at once. Other requests never wait.
 */
export const awaitConfirmation =
  (awaited: (() => Promise<void> | undefined) | undefined, handle: Listener): Listener =>
  (request, response) => {
    const wait = request.headers.authorization === undefined ? undefined : awaited?.();
    if (!wait) handle(request, response);
    // The client may have disconnected while we waited.
    else void wait.then(() => request.destroyed || handle(request, response));
  };
