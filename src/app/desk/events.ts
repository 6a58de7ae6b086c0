import type { StoredEvent } from '#src/ports/event-log.ts';
import { withErasedWords } from '../older-words.ts';
import { done, refuse } from '../outcome.ts';
import { iso } from '../time.ts';
import type { DeskHandler } from './handler.ts';
import { mayActFor } from './handler.ts';

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
  const { stream, owner_id, after, up_to, limit, last } = input;
  const head = (await deps.log.head()).position;
  // What is read decides whose it is: a stream's own owner, whatever owner_id says beside it.
  const asked = stream === undefined ? owner_id : stream.slice(0, stream.indexOf('-'));
  const bound = call.caller.ownerId !== undefined;
  if (asked === undefined ? bound : !mayActFor(call, asked))
    return refuse('resource_not_found', 'There is no such history.');
  let events: StoredEvent[];
  if (stream !== undefined) {
    events = (await deps.log.readStream(stream)).filter(
      ({ position }) => position > after && position <= (up_to ?? head),
    );
  } else if (owner_id !== undefined) {
    events = await deps.log.readOwner(owner_id, { after, upTo: up_to ?? head, limit: limit + 1 });
  } else {
    const from = last === undefined ? after : Math.max(after, head - last);
    events = await deps.log.readAll({ after: from, limit: limit + 1 });
  }
  const shown = await withErasedWords(deps.vault, events.slice(0, limit));
  return done({ data: shown.map(render), head, more: events.length > limit });
};
