import type { Position, StoredEvent } from '#src/ports/event-log.ts';
import type { Deps } from '../pipeline/deps.ts';
import { withErasedWords } from '../privacy/plaintext-legacy-fields.ts';
import { done, refuse } from '../pipeline/outcome.ts';
import { iso } from '../shared/time.ts';
import { type DeskHandler, type DeskInput, mayActFor } from '../pipeline/desk-handler.ts';

const render = ({ position, stream, revision, id, type, data, meta }: StoredEvent) => ({
  position,
  stream,
  revision,
  id,
  type,
  at: iso(meta.at),
  data: data as Record<string, unknown>,
  meta: meta as Record<string, unknown>,
});

export const readEvents: DeskHandler<'readEvents'> = async (deps, input, call) => {
  const { stream, owner_id, limit } = input;
  const head = (await deps.log.head()).position;
  // What is read decides whose it is: a stream's own owner, whatever owner_id says beside it.
  const asked = stream === undefined ? owner_id : stream.slice(0, stream.indexOf('-'));
  const bound = call.caller.ownerId !== undefined;
  if (asked === undefined ? bound : !mayActFor(call, asked))
    return refuse('resource_not_found', 'There is no such history.');
  const events = await eventsOf(deps, { ...input, upTo: input.up_to ?? head });
  const shown = await withErasedWords(deps.vault, events.slice(0, limit));
  return done({ data: shown.map(render), head, more: events.length > limit });
};

type Asked = DeskInput<'readEvents'> & { upTo: Position };

/** In log order, one more than asked for where there is more. */
const eventsOf = async (
  { log }: Pick<Deps, 'log'>,
  { stream, owner_id: owner, after, upTo, limit: shown, last }: Asked,
): Promise<StoredEvent[]> => {
  const isWithin = ({ position }: StoredEvent): boolean => position > after && position <= upTo;
  if (stream !== undefined) {
    const events = (await log.readStream(stream)).filter(isWithin);
    return last === undefined ? events : events.slice(-last);
  }
  if (last !== undefined) {
    const asked = { upTo, limit: last, ...(owner !== undefined && { owner }) };
    return (await log.readBack(asked)).filter(isWithin);
  }
  const limit = shown + 1;
  return owner === undefined
    ? (await log.readAll({ after, limit })).filter(isWithin)
    : log.readOwner(owner, { after, upTo, limit });
};
