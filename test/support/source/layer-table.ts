import { type Layer, LAYERS, ORDER } from './tree.ts';

const names = (list: readonly string[] = []): string =>
  list.map((name) => `\`${name}\``).join(', ') || '–';

const isCapability = (name: string): boolean => ORDER.some((folder) => name === `src/${folder}/`);

/** What a place may import, with its capabilities as one: all of them, or those up to the place itself. */
const inShort = ({ place, may }: Layer): string => {
  const others = may.filter((name) => !isCapability(name));
  if (isCapability(place)) return `its own and earlier capabilities, ${names(others)}`;
  return may.length - others.length === ORDER.length
    ? `all capabilities, ${names(others)}`
    : names(may);
};

/** The import rules as the Markdown table of AGENTS.md, with one row for all capabilities. */
export const layerTable = (): string =>
  [
    '| Files in | may import | and types of |',
    '|---|---|---|',
    ...LAYERS.filter(({ place }) => !ORDER.slice(1).some((name) => place === `src/${name}/`)).map(
      (layer) => {
        const place = layer.place === `src/${ORDER[0]}/` ? 'each capability' : `\`${layer.place}\``;
        return `| ${place} | ${inShort(layer)} | ${names(layer.types)} |`;
      },
    ),
  ].join('\n');
