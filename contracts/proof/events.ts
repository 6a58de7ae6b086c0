/** Events of the notary. */
import { z } from 'zod';

/**
 * The tree of the log has everything before this event; in the stream notary-tree_1. Everything else about the tree follows from
 * the log, so any process can build it again.
 */
const TreeMarked = z.object({
  /** The size of the tree at the mark before and its root, in base64; absent in the first one. */
  before: z.object({ size: z.int(), root: z.string() }).optional(),
});

export const proofEvents = { TreeMarked };
