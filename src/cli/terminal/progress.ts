/** Progress on stderr: a bar on a terminal, a plain line now and then elsewhere. */
import { SingleBar } from 'cli-progress';
import { systemClock } from '#src/adapters/system/clock.ts';
import { count, note } from './output.ts';

const LINE_EVERY_MS = 2_000;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

export type Progress = {
  /** The total may be learnt on the way. */
  update(done: number, total?: number): void;
  stop(): void;
};

const bar = (label: string, total: number, unit: string): Progress => {
  const shown = new SingleBar({
    format: `${label}  {bar} {percentage} %  {value}/{total} ${unit}  {duration_formatted}`,
    stream: process.stderr,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 24,
    hideCursor: true,
    fps: 10,
  });
  shown.start(total, 0);
  return {
    update(done, newTotal) {
      if (newTotal !== undefined) shown.setTotal(newTotal);
      shown.update(done);
    },
    stop: () => shown.stop(),
  };
};

const lines = (label: string, total: number, unit: string): Progress => {
  const { monotonic } = systemClock();
  let known = total;
  let said = monotonic();
  return {
    update(done, newTotal) {
      known = newTotal ?? known;
      if (monotonic() - said < LINE_EVERY_MS) return;
      said = monotonic();
      note(`${label}  ${count(done)}/${count(known)} ${unit}`);
    },
    stop: () => undefined,
  };
};

/**
 * A signal ends the process as it would have, but leaves the terminal as it was found and says how
 * far it came: with `soFar`, in the command's own words.
 */
export const progress = (
  label: string,
  total: number,
  unit: string,
  soFar?: () => string,
): Progress => {
  const shown = (process.stderr.isTTY ? bar : lines)(label, total, unit);
  const at = { done: 0, total };
  const stop = (): void => {
    for (const signal of SIGNALS) process.off(signal, interrupted);
    shown.stop();
  };
  const interrupted = (signal: NodeJS.Signals): void => {
    stop();
    const reached = soFar?.() ?? `${count(at.done)} of ${count(at.total)} ${unit} done`;
    note(`interrupted: ${label.trim()}, ${reached}. The same command may simply be run again.`);
    process.kill(process.pid, signal);
  };
  for (const signal of SIGNALS) process.once(signal, interrupted);
  return {
    update(done, newTotal) {
      at.done = done;
      at.total = newTotal ?? at.total;
      shown.update(done, newTotal);
    },
    stop,
  };
};
