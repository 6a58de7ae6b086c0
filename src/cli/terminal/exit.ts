/** What the exit status says. Printed by --help; scripts rely on it. */
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
  0  done
  1  refused: the reason is on stderr
  2  the command line is not right
  3  cannot start: settings, data directory, port; of status: no server runs
  4  a check or verification found a difference or a fault
  5  no answer: the connection failed, and a write may or may not have happened
`;

/** Ends the command with a text for people, and with --json an object for scripts. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exit: number;
  readonly report: object | undefined;

  constructor(exit: number, message: string, report?: object) {
    super(message);
    this.exit = exit;
    this.report = report;
  }
}
