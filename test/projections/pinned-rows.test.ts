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
  'links@1': '37599fbf939718ee',
  'handoffs@5': '82738c5e15fe61fd',
  'handoff-leads@2': 'b4758133ae4e1266',
  'leads@8': 'b3e3f766c39a9670',
  'outbound@4': '21e25f99edf0cf70',
  'open-outbound@4': '3ca605412f865baf',
  'open-mail@1': '6762a6ca069478c5',
  'open-applications@1': 'a23a702552205681',
  'open-leads@4': 'e785c4ea3255dcf6',
  'lead-hints@2': '882807b7f5e150a4',
  'rfqs@4': 'ae409b87d9f2fa1b',
  'tasks@1': '2d01f9b1a1d95528',
  'push-configs@1': '013781861d25925a',
  'codes@2': '6051b9c6c9b9ece4',
  'review-tokens@3': '3cf381f5bf913aea',
  'credentials@8': '58621aa79d25e731',
  'access@8': '8557b6ad35c852bc',
  'access-requests@2': 'cff66f0c1c8f64fb',
  'owners@1': 'e15947e85e27b508',
  'erasures@2': '82e03d459cf320cf',
  'mailboxes@4': 'e80b95a09d6478f4',
  'performance@6': 'd8b743699900d3fb',
  'history@11': '45070ea95185f5c5',
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
