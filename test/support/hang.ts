/** Milliseconds after which a wait counts as a hang: more than any wait on a machine that is ten times slower. */
export const HANG_MS = 100_000;
