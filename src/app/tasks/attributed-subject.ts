import type { AttributionAnswer } from '#contracts/skills.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';

/** What a question is about, and the records that it came from. */
export type Subject = {
  kind: AttributionAnswer['subject']['kind'];
  id: string;
  link_id?: string | undefined;
  handoff_id?: string | undefined;
  lead_id?: string | undefined;
  /** The event of a click. */
  event?: StoredEvent;
};
