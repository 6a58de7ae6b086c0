/** How long what a process leaves behind may wait for a server, once the process is to end. */
const PARTING_MS_MAX = 1_000;

/**
 * Closes a connection a moment after `signal`: whoever waits for a server that gives no answer then
 * hears so, and keeps no process from its end. Closed again later, it stays closed.
 */
export const closedSoonAfter = (
  signal: AbortSignal,
  connection: { close(): Promise<void> },
): void => {
  const close = (): void => void connection.close();
  signal.addEventListener('abort', () => setTimeout(close, PARTING_MS_MAX).unref());
};
