import { type Command, Option } from 'commander';
import { PROCESS_ROLES } from '#src/wiring/process-roles.ts';
import { leaf, whole } from '../command.ts';
import type { ServeOptions } from '../service/serving.ts';

export const serveCommand = (program: Command): void => {
  leaf(program, 'serve', 'start the service')
    .option('--port <n>', 'port; 0 picks a free one (default: PORT, or 3000)', whole(0, 65_535))
    .option('--host <host>', 'address (default: HOST, or 127.0.0.1)')
    .option('--demo', 'with a demo story, a demo key and lines to paste; loopback only')
    .addOption(
      new Option('--role <role>', 'what this process does, of several on one log')
        .choices(PROCESS_ROLES)
        .default('all'),
    )
    .addHelpText(
      'after',
      '\nRoles: api serves and reads; projector folds its share of the read models in Redis;\n' +
        'dispatcher sends approved outreach; all does everything. projector and dispatcher need a log\n' +
        'on a server (EVENT_LOG_URL=esdb://HOST). Each process has a data directory of its own.\n' +
        '\nWith --json the first line on stdout, once it is ready, is one object: url, port, owner,\n' +
        'agent, api_key (of the demo, else null), desk_token, data, review_url (demo).\n' +
        'SIGTERM and SIGINT drain: it has stopped within 10 s.',
    )
    .action(async (options: ServeOptions) => {
      // Loaded here, so that no other command pays for the whole service.
      const { serve } = await import('../service/serving.ts');
      await serve(options);
    });
};
