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
  'links@2': '31e4ddfbc454a0f1',
  'handoffs@6': '259207e112eb2fd4',
  'handoff-leads@2': 'f1a5f5cbb007f35e',
  'leads@9': '630daa92563882d4',
  'outbound@5': '88515a370d30f8e8',
  'open-outbound@4': '4b729f5c24ad4d95',
  'outreach-settings@1': '1f185d717ca943df',
  'open-mail@1': 'e760ddf79e4be318',
  'open-applications@1': 'db5257f4195b3dc8',
  'open-leads@4': '19324a6e26ce78e1',
  'lead-hints@2': '0723b6a667ba5d42',
  'rfqs@5': '5b222cb59c1dfd88',
  'confirmed-lists@1': 'fcc28123b2080fc3',
  'named-records@1': '88172f061b0d128f',
  'tasks@1': 'a59bce64f11c7328',
  'push-configs@1': '2c272b8dfafa3fbc',
  'codes@5': '17b34a0e1d5cc554',
  'review-tokens@4': '08faef9008d32d1c',
  'credentials@9': '182c752d53bcef1b',
  'access@10': '527c89881eddcf3d',
  'access-requests@3': '1b89ab61f2082dad',
  'owners@1': '58e6db5f9da597db',
  'erasures@2': '7b52ec77fe2163dd',
  'mailboxes@4': '0ed103a94ca87db0',
  'performance@8': 'b83e6bac0d128358',
  'history@13': '6531deaa11c11662',
  'changes@1': 'c92086a40af6b376',
};

const nameOf = ({ name, version }: Projection): string => `${name}@${version}`;

/**
 * Hashes the rows after each event that the projection folds, because a later event can replace the rows of an earlier one. An
 * event at the end of the log changes the pins of those read models only that fold it.
 */
const digestOf = (projection: Projection): string => {
  const hash = createHash('sha256');
  const handled = new Set<string>(projection.handles);
  for (const [at, { type }] of PINNED_LOG.entries())
    if (handled.has(type))
      hash.update(JSON.stringify(rowsAfter(projection, PINNED_LOG.slice(0, at + 1))));
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
