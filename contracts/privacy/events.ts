/** Events of requests for privacy. */
import { z } from 'zod';

/** The subject's key was destroyed; no copy of its sealed text can be read any more. */
const SubjectErased = z.object({
  subject: z.string(),
  reason: z.string(),
  /** The subject of its RFQ's contact, whose key is also destroyed. */
  contact_subject: z.string().optional(),
});

export const privacyEvents = { SubjectErased };
