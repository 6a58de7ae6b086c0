/**
 * The rows that each version of a read model makes of one fixed log. An upgrade replaces rows of an older
 * fold only if the version differs: otherwise it would keep them, and the operator's "projections verify"
 * would fail.
 */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { PROJECTIONS } from '#projections/index.ts';
import type { Projection } from '#projections/projection.ts';
import { rowsAfter } from '../support/world/fold.ts';
import { PINNED_LOG } from '../support/pinned/pinned-log.ts';

const PINNED: Readonly<Record<string, string>> = {
  'links@1': '348df26d08692062',
  'handoffs@5': 'df263daf55ab29d5',
  'handoff-leads@2': '75b8dd24b503fc7f',
  'leads@8': '44c11b4c0f8c1580',
  'outbound@4': 'baed2e398ba48891',
  'open-outbound@4': '5e85510cc7d4d75f',
  'open-mail@1': '31a376cf1a20d1b0',
  'open-applications@1': 'd0474759b4689755',
  'open-leads@4': '0722f6f3388c7103',
  'lead-hints@2': '428f66ba8a2a4068',
  'rfqs@4': '59a2c68fe9ce357a',
  'tasks@1': '828ad2b81c4edc4e',
  'push-configs@1': 'ea378035e8337c9c',
  'codes@2': '0aaed9efd7181947',
  'review-tokens@3': '3bf50223e8d0e3e2',
  'credentials@8': '9591feece1ff0ba6',
  'access@8': 'eb54569ebf0b7580',
  'access-requests@2': 'ed682a1a0bb24d33',
  'owners@1': '1d4a8ca16420775e',
  'erasures@2': 'c417e562fa338a9d',
  'mailboxes@4': 'bc83f6d2a06357dd',
  'performance@6': '11464929b977b62e',
  'history@11': '80d7fe0d6dd0d1f6',
};

const nameOf = ({ name, version }: Projection): string => `${name}@${version}`;

/** Hashes the rows after each event, because a later event can replace the rows of an earlier one. */
const digestOf = (projection: Projection): string => {
  const hash = createHash('sha256');
  for (let upTo = 1; upTo <= PINNED_LOG.length; upTo += 1)
    hash.update(JSON.stringify(rowsAfter(projection, PINNED_LOG.slice(0, upTo))));
  return hash.digest('hex').slice(0, 16);
};

const whatToDo = ({ name, version }: Projection): string =>
  `${name}@${version} made other rows of this log, or none were pinned. Was its fold to change? Then ` +
  `raise \`version\` of ${name} in projections/, unless it was raised since the last release, and put ` +
  'the new name and digest in place of the old line. If it was not to change, mend the fold. Only ' +
  'if test/support/pinned/pinned-log.ts itself was added to, pin the same version anew.';

describe('The pinned rows of a fixed log', () => {
  test.each(PROJECTIONS.map((each) => [nameOf(each), each] as const))(
    'The pinned rows of a fixed log equal the rows of %s',
    (name, each) => {
      expect(digestOf(each), whatToDo(each)).toBe(PINNED[name]);
    },
  );

  test('The pinned rows of a fixed log exist for each read model, and the log contains each folded event type', () => {
    expect(Object.keys(PINNED)).toEqual(PROJECTIONS.map(nameOf));
    const types = new Set(PINNED_LOG.map(({ type }) => type));
    const folded = new Set(PROJECTIONS.flatMap(({ handles }) => handles));
    expect([...folded.difference(types)]).toEqual([]);
  });
});
