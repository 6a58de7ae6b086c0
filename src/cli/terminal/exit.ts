/** Exit statuses. `--help` prints them, and scripts depend on them. */
export const EXIT = {
  ok: 0,
  refused: 1,
  usage: 2,
  cannotStart: 3,
  differs: 4,
  unknown: 5,
} as const;

export const EXIT_HELP = `
Exit status:
  0  Success
  1  Refused; stderr says why
  2  The command line is not valid
  3  Cannot start: settings, data directory or port. For status: no server is running
  4  A check or a verification found a difference or a fault
  5  No answer: the connection failed, and a write may or may not have been done
`;

/** Ends the command with a text for people and, with --json, an object for scripts. */
export class CommandError extends Error {
  /** Scripts read it as `code` where the report has none. */
  override readonly name = 'Failure';
  readonly exit: number;
  readonly report: object | undefined;

  constructor(exit: number, message: string, report?: object) {
    super(message);
    this.exit = exit;
    this.report = report;
  }
}
