import type { Command } from 'commander';
import { Option } from 'commander';
import { leaf, whole } from './command.ts';
import type { ServeOptions } from './serving.ts';

export const serveCommand = (program: Command): void => {
  leaf(program, 'serve', 'start the service')
    .option('--port <n>', 'port; 0 picks a free one (default: PORT, or 3000)', whole(0, 65_535))
    .option('--host <host>', 'address (default: HOST, or 127.0.0.1)')
    .option('--demo', 'with a demo story, a demo key and lines to paste; loopback only')
    .addOption(
      new Option('--role <role>', 'api: everything but the dispatcher of outreach')
        .choices(['all', 'api'])
        .default('all'),
    )
    .addHelpText(
      'after',
      '\nWith --json the first line on stdout, once it is ready, is one object: url, port, owner,\n' +
        'agent, api_key (of the demo, else null), desk_token, data, review_url (demo).\n' +
        'SIGTERM and SIGINT drain: it has stopped within 10 s.',
    )
    .action(async (options: ServeOptions) => {
      // Loaded here, so that no other command pays for the whole service.
      const { serve } = await import('./serving.ts');
      await serve(options);
    });
};
