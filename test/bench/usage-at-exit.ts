/** Preloaded into a measured command: writes what its process used, from its start to its end. */
import { writeFileSync } from 'node:fs';
import { env, resourceUsage } from 'node:process';

process.on('exit', () => writeFileSync(env['USAGE_FILE'] ?? '', JSON.stringify(resourceUsage())));
