/** Faults of the disk that a test causes, and syncs that it counts, in a child process, through a library that the child preloads. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';

const SOURCE = join(import.meta.dirname, 'disk-faults.c');

export type Call = 'read' | 'write' | 'sync';

export type DiskFaults = {
  /** The environment of a child that the faults apply to. */
  settings: Record<string, string>;
  /** From now on these calls fail on files whose path contains `part`. */
  fail(calls: readonly Call[], code: 'EIO' | 'EDQUOT' | 'EFBIG' | 'ENOSPC', part: string): void;
  end(): void;
  /** How often the children have synced each file so far, by the end of its path. */
  syncsOf(...ends: string[]): number[];
};

/** Builds the library in `directory`. Returns undefined without a C compiler for Linux. */
export const buildDiskFaults = (directory: string): DiskFaults | undefined => {
  if (process.platform !== 'linux') return undefined;
  const library = join(directory, 'disk-faults.so');
  const rule = join(directory, 'rule');
  const notes = join(directory, 'syncs');
  const args = ['-shared', '-fPIC', '-O1', '-o', library, SOURCE, '-ldl'];
  if (spawnSync('cc', args, { stdio: 'ignore' }).status !== 0) return undefined;
  return {
    settings: { LD_PRELOAD: library, DISK_FAULTS: rule, DISK_SYNCS: notes },
    fail(calls, code, part) {
      // Renamed, so that the child never reads half a rule.
      writeFileSync(`${rule}.new`, `${calls.join()} ${constants.errno[code]} ${part}\n`);
      renameSync(`${rule}.new`, rule);
    },
    end: () => rmSync(rule, { force: true }),
    syncsOf(...ends) {
      const paths = existsSync(notes) ? readFileSync(notes, 'utf8').split('\n') : [];
      return ends.map((end) => paths.filter((path) => path.endsWith(end)).length);
    },
  };
};
