/** The service cannot start. The message tells the operator what is wrong and what to do. */
export class StartupError extends Error {
  override readonly name = 'StartupError';
}
