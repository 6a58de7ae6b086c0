import { type Layer, LAYERS, ORDER } from './tree.ts';

const names = (list: readonly string[] = []): string =>
  list.map((name) => `\`${name}\``).join(', ') || '–';

/** The places of capabilities in a list, as one: all of them, or those up to the place of the rule. */
const inShort = (list: readonly string[] | undefined, { place }: Layer): string => {
  const isCapability = (name: string): boolean => ORDER.some((folder) => name === `src/${folder}/`);
  const capabilities = (list ?? []).filter(isCapability);
  const others = names((list ?? []).filter((name) => !capabilities.includes(name)));
  if (capabilities.length < ORDER.length && !isCapability(place)) return names(list);
  return `${isCapability(place) ? 'its own and earlier capabilities' : 'all capabilities'}, ${others}`;
};

/** The import rules as the Markdown table of AGENTS.md, with one row for all capabilities. */
export const layerTable = (): string =>
  [
    '| Files in | may import | and types of |',
    '|---|---|---|',
    ...LAYERS.filter(({ place }) => !ORDER.slice(1).some((name) => place === `src/${name}/`)).map(
      (layer) => {
        const place = layer.place === `src/${ORDER[0]}/` ? 'each capability' : `\`${layer.place}\``;
        return `| ${place} | ${inShort(layer.may, layer)} | ${inShort(layer.types, layer)} |`;
      },
    ),
  ].join('\n');
