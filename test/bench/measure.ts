/** Samples of variants, taken in turn so that disturbances affect all of them. */

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? 0)
    : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
};

export const percentile = (values: readonly number[], share: number): number => {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
};

export const ROUNDS = 3;

/** Takes a sample of each variant per round; every second round is in reverse order. */
export const interleaved = async <Name extends string, Sample>(
  variants: Record<Name, () => Promise<Sample>>,
  rounds = ROUNDS,
): Promise<Record<Name, Sample[]>> => {
  const names = Object.keys(variants) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, [] as Sample[]])) as Record<
    Name,
    Sample[]
  >;
  for (let round = 0; round < rounds; round++)
    for (const name of round % 2 === 0 ? names : [...names].reverse())
      samples[name].push(await variants[name]());
  return samples;
};

/** Returns the median of one measure over the samples of a variant. */
export const middleOf = <Sample>(
  samples: readonly Sample[],
  measure: (sample: Sample) => number,
): number => median(samples.map(measure));
