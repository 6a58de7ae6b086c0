/** The service cannot start. The message is for the operator: what is so, and what to do. */
export class StartupError extends Error {
  override readonly name = 'StartupError';
}
