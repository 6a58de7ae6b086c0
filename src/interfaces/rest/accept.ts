/** Chooses the offered media type that the client prefers (RFC 9110, 12.5.1); undefined when it accepts none. */
export const negotiate = (
  accept: string | undefined,
  offered: readonly string[],
): string | undefined => {
  if (accept === undefined || accept.trim() === '') return offered[0];
  const ranges = accept.split(',').map((range) => {
    const [type = '', ...parameters] = range.trim().toLowerCase().split(';');
    const q = parameters.map((parameter) => /^\s*q=([\d.]+)$/.exec(parameter)?.[1]).find(Boolean);
    return { type: type.trim(), weight: q === undefined ? 1 : Number(q) };
  });
  const weightOf = (media: string): number => {
    const exact = ranges.find(({ type }) => type === media);
    const group = ranges.find(({ type }) => type === `${media.split('/')[0]}/*`);
    const any = ranges.find(({ type }) => type === '*/*');
    return (exact ?? group ?? any)?.weight ?? 0;
  };
  let best: { media: string; weight: number } | undefined;
  for (const media of offered) {
    const weight = weightOf(media);
    if (weight > 0 && weight > (best?.weight ?? 0)) best = { media, weight };
  }
  return best?.media;
};
