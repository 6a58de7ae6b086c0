/** Samples of processes during a soak: resident memory, open files and lag; as a table, a summary and a plot. */
import { readdirSync, readFileSync } from 'node:fs';
import type { ChildService } from '../support/processes/child-service.ts';

/** `lag`: seconds by which the slowest read model of the process lags; undefined without an answer. */
export type Sample = {
  name: string;
  minutes: number;
  rssMb: number;
  files: number;
  lag: number | undefined;
};

const LAG = /^tributary_projection_lag_seconds\{[^}]*\} (\S+)$/gm;
const METRICS_MS_MAX = 3_000;

const lagOf = async (url: string): Promise<number | undefined> => {
  const signal = AbortSignal.timeout(METRICS_MS_MAX);
  const answer = await fetch(`${url}/metrics`, { signal }).catch(() => undefined);
  if (!answer?.ok) return undefined;
  const values = [...(await answer.text()).matchAll(LAG)].map(([, value]) => Number(value));
  return values.length === 0 ? undefined : Math.max(...values);
};

/** Reads a sample of a process of this machine; undefined if it has ended. */
export const readSample = async (
  { child, url }: ChildService,
  at: Pick<Sample, 'name' | 'minutes'>,
): Promise<Sample | undefined> => {
  try {
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    const rssMb = Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1_024;
    const files = readdirSync(`/proc/${child.pid}/fd`).length;
    return { ...at, rssMb, files, lag: await lagOf(url) };
  } catch {
    return undefined;
  }
};

export const toCsv = (samples: readonly Sample[]): string =>
  `minutes,process,rss_mb,open_files,lag_s\n${samples
    .map(
      ({ minutes, name, rssMb, files, lag }) =>
        `${minutes.toFixed(2)},${name},${rssMb.toFixed(1)},${files},${lag ?? ''}\n`,
    )
    .join('')}`;

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

const byProcess = (samples: readonly Sample[]): [string, Sample[]][] => [
  ...Map.groupBy(samples, ({ name }) => name),
];

/** One line for each process: medians of the second and of the last quarter of the run, and the worst lag. */
export const growthOf = (samples: readonly Sample[]): string =>
  byProcess(samples)
    .map(([name, own]) => {
      const quarter = (n: number) => own.slice((own.length * n) / 4, (own.length * (n + 1)) / 4);
      const medians = (of: (sample: Sample) => number) =>
        [quarter(1), quarter(3)].map((part) => median(part.map(of)).toFixed(0)).join(' -> ');
      const lags = own.flatMap(({ lag }) => lag ?? []);
      return (
        `soak: ${name}: RSS ${medians(({ rssMb }) => rssMb)} MB, open files ` +
        `${medians(({ files }) => files)}, lag median ${median(lags).toFixed(2)} s, worst ` +
        `${Math.max(0, ...lags).toFixed(1)} s`
      );
    })
    .join('\n');

const WIDTH = 860;
const HEIGHT = 180;
const LEFT = 60;
const GAP = 60;
const COLOURS = ['#0b6e4f', '#c1440e', '#3b5bdb', '#8d5b00', '#7b2d8b', '#444444'];

type Panel = { title: string; of: (sample: Sample) => number | undefined };
const PANELS: readonly Panel[] = [
  { title: 'Resident memory, MB', of: ({ rssMb }) => rssMb },
  { title: 'Open files', of: ({ files }) => files },
  { title: 'Lag of the slowest read model, s', of: ({ lag }) => lag },
];

const panel = ({ title, of }: Panel, index: number, samples: readonly Sample[]): string => {
  const top = 40 + index * (HEIGHT + GAP);
  const end = Math.max(1, ...samples.map(({ minutes }) => minutes));
  const most = Math.max(1, ...samples.map((sample) => of(sample) ?? 0));
  const x = (minutes: number) => LEFT + (minutes / end) * WIDTH;
  const y = (value: number) => top + HEIGHT - (value / most) * HEIGHT;
  const lines = byProcess(samples).map(([, own], i) => {
    const points = own.flatMap((sample) => {
      const value = of(sample);
      return value === undefined ? [] : [`${x(sample.minutes).toFixed(1)},${y(value).toFixed(1)}`];
    });
    return `<polyline fill="none" stroke="${COLOURS[i % COLOURS.length]}" points="${points.join(' ')}"/>`;
  });
  return `<text x="${LEFT}" y="${top - 8}">${title}</text>
<path d="M${LEFT} ${top}v${HEIGHT}h${WIDTH}" fill="none" stroke="#999"/>
<text x="4" y="${top + 10}">${most.toFixed(most < 10 ? 1 : 0)}</text><text x="4" y="${top + HEIGHT}">0</text>
<text x="${LEFT + WIDTH - 60}" y="${top + HEIGHT + 18}">${end.toFixed(0)} min</text>${lines.join('\n')}`;
};

/** The samples as an SVG with one panel for each quantity and one line for each process. */
export const plot = (samples: readonly Sample[]): string => {
  const names = byProcess(samples).map(([name]) => name);
  const height = 60 + PANELS.length * (HEIGHT + GAP) + 20 * names.length;
  const legend = names.map(
    (name, i) =>
      `<text x="${LEFT}" y="${height - 20 * (names.length - i)}" fill="${COLOURS[i % COLOURS.length]}">${name}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${LEFT + WIDTH + 20} ${height}" font-family="sans-serif" font-size="13">
<rect width="100%" height="100%" fill="#fff"/>
${PANELS.map((one, i) => panel(one, i, samples)).join('\n')}
${legend.join('\n')}</svg>\n`;
};
