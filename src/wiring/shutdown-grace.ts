/** How long pending calls may wait for a server after the shutdown has begun. */
const GRACE_MS = 1_000;

/**
 * Closes a connection after a grace period from `signal` on, so that pending calls fail and shutdown
 * cannot hang. Closing it again later has no effect.
 */
export const closeAfterGrace = (
  signal: AbortSignal,
  connection: { close(): Promise<void> },
): void => {
  const close = (): void => void connection.close();
  signal.addEventListener('abort', () => setTimeout(close, GRACE_MS).unref());
};
