/** Events of operators' decisions on builds of read models, each in a stream of its own. */
import { z } from 'zod';

/** `space`: the name of the build, in the store of the process that answered. */
const build = z.object({ read_model: z.string(), space: z.string() });

const BuildSwitched = build;
const BuildDropped = build;

export const buildEvents = { BuildDropped, BuildSwitched };
