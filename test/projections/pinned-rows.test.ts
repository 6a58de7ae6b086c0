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
  'links@1': '4bf6f6e92db38cb3',
  'handoffs@5': 'd89f45e26dba8694',
  'handoff-leads@2': 'f2ad99d5f550e7d5',
  'leads@8': '22c7f4f0df1513a6',
  'outbound@4': '0b08728e4ee2de53',
  'open-outbound@4': 'a37e061abd9f837e',
  'open-mail@1': '867718ab977c59be',
  'open-applications@1': '739321f5a86b97d0',
  'open-leads@4': '9df1440dd1b011d5',
  'lead-hints@2': '1d6939bb35a16b83',
  'rfqs@4': '1240a2f314ee05aa',
  'tasks@1': '5a08c7fdb4092cb8',
  'push-configs@1': '8a028cf1e9d9e160',
  'codes@2': '9ea0f6f1f6fa35f0',
  'review-tokens@3': '1446a1cd66b2dfb7',
  'credentials@8': '06a8b7dd8149bf7f',
  'access@8': '67e408e8b9a8db1a',
  'access-requests@2': '1fb489caa29ad221',
  'owners@1': 'f5a323d7d318aecd',
  'erasures@2': '655d1e4ba506430f',
  'mailboxes@4': '486aee02b7ffac5b',
  'performance@6': '1f789f8d996a8c3d',
  'history@11': '8419bfe62952d970',
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
