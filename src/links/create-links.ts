/** The operation that creates several links with one key. */
import type { Link } from '#contracts/links/records.ts';
import type { Refusal } from '#src/shared/outcome.ts';
import type { Handler } from '#src/calls/handlers.ts';
import { done } from '#src/shared/outcome.ts';
import { present } from '#src/shared/present.ts';
import { answerOnce } from '#src/writing/idempotency.ts';
import { digestOf, fingerprintOf } from '#src/writing/streams.ts';
import { createLink, SLUG_TAKEN } from './create-link.ts';

const problemOf = ({ code, detail, errors }: Refusal) => ({
  problem: { code, detail, ...present({ errors }) },
});

/**
 * Creates each link with a key of its own, made of the key of the call and its place, so that a call that was interrupted
 * continues. The answer is stored with the key: a retry repeats it, also the problems that would be none now.
 */
export const createLinks: Handler<'createLinks'> = (deps, { links }, call) =>
  answerOnce(deps, call, {
    stream: `${call.ownerId}-links_${call.idem}`,
    async work() {
      const slugs = new Set<string>();
      const outcomes = links.map(async (input, place) => {
        const isTwice = input.slug !== undefined && slugs.has(input.slug);
        if (input.slug !== undefined) slugs.add(input.slug);
        if (isTwice) return SLUG_TAKEN;
        const item = {
          ...call,
          idem: digestOf(call.idem ?? '', String(place)),
          fingerprint: fingerprintOf('createLink', input),
        };
        return createLink(deps, { idempotency_key: '', ...input }, item);
      });
      const made = await Promise.all(outcomes);
      /** The first link with each external_id. */
      const first = new Map<string, string>();
      const warningsOf = ({ id, external_id, warnings }: Link): Link['warnings'] => {
        const other = external_id === undefined ? undefined : first.get(external_id);
        if (external_id !== undefined && other === undefined) first.set(external_id, id);
        return other === undefined ? warnings : [{ code: 'external_id_in_use', id: other }];
      };
      return done({
        data: made.map((one) =>
          one.ok
            ? {
                ...present({ warnings: warningsOf(one.value) }),
                id: one.value.id,
                short_url: one.value.short_url,
              }
            : problemOf(one),
        ),
      });
    },
  });
