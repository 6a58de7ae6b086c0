import { LAYERS } from './tree.ts';

const names = (list: readonly string[] = []): string =>
  list.map((name) => `\`${name}\``).join(', ') || '–';

/** The import rules as the Markdown table of AGENTS.md. */
export const layerTable = (): string =>
  [
    '| Files in | may import | and types of |',
    '|---|---|---|',
    ...LAYERS.map(({ place, may, types }) => `| \`${place}\` | ${names(may)} | ${names(types)} |`),
  ].join('\n');
