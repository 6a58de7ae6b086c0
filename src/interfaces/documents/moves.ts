/** The states of RFQs and goods as tables and diagrams, from the tables of the contract. */
import { GOODS_MOVES, RFQ_CORRECTIONS, RFQ_MOVES, RFQ_OUTCOMES } from '#contracts/moves.ts';
import { code, mermaid, table } from './markdown.ts';

type Moves = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

const rowsOf = (moves: Moves): [from: string, to: string, who: string][] =>
  Object.entries(moves).flatMap(([from, reached]) =>
    Object.entries(reached).map(([to, movers]): [string, string, string] => [
      from,
      to,
      movers.join(' or '),
    ]),
  );

const movesText = (moves: Moves, first: string): string => {
  const rows = rowsOf(moves);
  const left = new Set(rows.map(([from]) => from));
  const ends = [...new Set(rows.map(([, to]) => to))].filter((to) => !left.has(to));
  return [
    table(
      ['From', 'To', 'By'],
      rows.map(([from, to, who]) => [code(from), code(to), who]),
    ),
    mermaid([
      'stateDiagram-v2',
      `[*] --> ${first}`,
      ...rows.map(([from, to, who]) => `${from} --> ${to}: ${who}`),
      ...ends.map((state) => `${state} --> [*]`),
    ]),
  ].join('\n\n');
};

/** Who makes which move of an RFQ, and where its goods go once it is won. */
export const statesMarkdown = (): string =>
  [
    '## States of an RFQ',
    `A quoted RFQ is ${code('expired')} from the end of its quotation on. ${RFQ_OUTCOMES.map(code).join(', ')} end it; a correction sets ${RFQ_CORRECTIONS.map(code).join(', ')}, except that an RFQ stays won while its goods are out.`,
    movesText(RFQ_MOVES, 'unconfirmed'),
    '## Goods of a won RFQ',
    'The quantity of each line goes these ways; what is cancelled or comes back is taken from the value.',
    movesText(GOODS_MOVES, 'unallocated'),
  ].join('\n\n');
