/** Progress on stderr: one line that changes on a terminal, otherwise a line every two seconds. */
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock } from '#src/system/ids.ts';
import { formatCount, printNotice } from './output.ts';

const LINE_EVERY_MS = 2_000;
const REDRAW_EVERY_MS = 100;
const POLL_EVERY_MS = 50;
const COLUMNS = 80;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
/** Moves to the beginning of the line and erases it. */
const ERASE_LINE = '\r\u001b[K';

export type Progress = {
  /** Shows how much is done. The total may become known later. */
  update(done: number, total?: number): void;
  stop(): void;
};

type ProgressOptions = {
  label: string;
  total: number;
  unit: string;
  /** Says how much is done when a signal interrupts the command; default: `done of total unit`. */
  describeDone?(): string;
};

const redraw = (line: string): void => {
  // 0 on a terminal that does not tell.
  const columns = process.stderr.columns || COLUMNS;
  process.stderr.write(ERASE_LINE + line.slice(0, columns - 1));
};

/** Shows progress until `stop`. A signal still ends the process, after the progress so far is printed. */
export const startProgress = ({
  label,
  unit,
  describeDone,
  ...options
}: ProgressOptions): Progress => {
  const { isTTY } = process.stderr;
  const { monotonic } = systemClock();
  const [show, everyMs] = isTTY ? [redraw, REDRAW_EVERY_MS] : [printNotice, LINE_EVERY_MS];
  let shownAt = isTTY ? -Infinity : monotonic();
  let [done, total] = [0, options.total];
  const stop = (): void => {
    for (const signal of SIGNALS) process.off(signal, interrupt);
    if (isTTY) process.stderr.write(ERASE_LINE);
  };
  const interrupt = (signal: NodeJS.Signals): void => {
    stop();
    const soFar = describeDone?.() ?? `${formatCount(done)} of ${formatCount(total)} ${unit} done`;
    printNotice(`interrupted: ${label.trim()}, ${soFar}. Run the same command again to continue.`);
    process.kill(process.pid, signal);
  };
  for (const signal of SIGNALS) process.once(signal, interrupt);
  return {
    update(nowDone, nowTotal = total) {
      [done, total] = [nowDone, nowTotal];
      if (monotonic() - shownAt < everyMs) return;
      shownAt = monotonic();
      const percent = total > 0 ? Math.floor((100 * done) / total) : 100;
      show(`${label}  ${percent} %  ${formatCount(done)}/${formatCount(total)} ${unit}`);
    },
    stop,
  };
};

export const askUntilDone = async <
  Answer extends { done: boolean; position: number; head: number },
>(
  about: Pick<ProgressOptions, 'label' | 'unit'>,
  ask: () => Promise<Answer>,
): Promise<Answer> => {
  let answer = await ask();
  const bar = startProgress({ ...about, total: answer.head });
  try {
    while (!answer.done) {
      await pause(POLL_EVERY_MS);
      answer = await ask();
      bar.update(answer.position, answer.head);
    }
    return answer;
  } finally {
    bar.stop();
  }
};
