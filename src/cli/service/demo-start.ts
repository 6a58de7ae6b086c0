import { makeDirectory } from '#src/system/directory.ts';
import { type Config, isRemoteLog } from '#src/config.ts';
import type { CoreOptions } from '#src/core.ts';
import type { DemoClock } from '#src/demo/clock.ts';
import { beginDemo } from '#src/demo/story.ts';

/** Prepares the demo before anything is appended. It throws StartupError if the log is not the demo's. */
export const demoStart =
  (config: Config, clock: DemoClock): NonNullable<CoreOptions['onLog']> =>
  (last, id) => {
    makeDirectory(config.dataDirectory);
    beginDemo(config.dataDirectory, { ...last, id, isRemote: isRemoteLog(config) });
    clock.begin(last);
  };
