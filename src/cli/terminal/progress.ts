/** Progress on stderr: a bar on a terminal, otherwise a line every two seconds. */
import { SingleBar } from 'cli-progress';
import { systemClock } from '#src/adapters/system/clock.ts';
import { formatCount, printNotice } from './output.ts';

const LINE_EVERY_MS = 2_000;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

export type ProgressBar = {
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

const drawBar = ({ label, total, unit }: ProgressOptions): ProgressBar => {
  const bar = new SingleBar({
    format: `${label}  {bar} {percentage} %  {value}/{total} ${unit}  {duration_formatted}`,
    stream: process.stderr,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 24,
    hideCursor: true,
    fps: 10,
  });
  bar.start(total, 0);
  return {
    update(done, newTotal) {
      if (newTotal !== undefined) bar.setTotal(newTotal);
      bar.update(done);
    },
    stop: () => bar.stop(),
  };
};

const printLines = ({ label, total, unit }: ProgressOptions): ProgressBar => {
  const { monotonic } = systemClock();
  let printedAt = monotonic();
  return {
    update(done, newTotal = total) {
      if (monotonic() - printedAt < LINE_EVERY_MS) return;
      printedAt = monotonic();
      printNotice(`${label}  ${formatCount(done)}/${formatCount(newTotal)} ${unit}`);
    },
    stop: () => undefined,
  };
};

/**
 * Shows progress until `stop`. A signal still ends the process, after the terminal is restored and the
 * progress so far is printed.
 */
export const startProgress = (options: ProgressOptions): ProgressBar => {
  const { label, unit, describeDone } = options;
  const bar = (process.stderr.isTTY ? drawBar : printLines)(options);
  let [done, total] = [0, options.total];
  const stop = (): void => {
    for (const signal of SIGNALS) process.off(signal, interrupt);
    bar.stop();
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
      bar.update(done, total);
    },
    stop,
  };
};
