import { Command } from 'commander';
import { accessCommands } from './commands/access.ts';
import { approvalCommands } from './commands/approvals.ts';
import { catalogCommands } from './commands/catalog.ts';
import { demoResetCommand } from './commands/demo-reset.ts';
import { doctorCommand } from './commands/doctor.ts';
import { eventsCommands } from './commands/events.ts';
import { EXIT_HELP } from './terminal/exit.ts';
import { HELP, helpCommand } from './terminal/help.ts';
import { keyCommands } from './commands/keys.ts';
import { logCommands } from './commands/log.ts';
import { outreachCommands } from './commands/outreach.ts';
import { projectionsCommands } from './commands/projections.ts';
import { recordCommands } from './commands/records.ts';
import { serveCommand } from './commands/serve.ts';
import { statusCommand } from './commands/status.ts';
import { VERSION } from './version.ts';

/** Every command. Faults of the command line are thrown, so that one place sets the exit status. */
export const program = (): Command => {
  const root = new Command('tributary')
    .description(
      'Attributed wholesale promotion for software agents, over one append-only log.\n' +
        'Commands use the server that runs on the data directory, or open it themselves.',
    )
    .version(VERSION)
    .helpCommand(false)
    .configureHelp(HELP)
    .showSuggestionAfterError()
    .addHelpText('after', EXIT_HELP)
    .exitOverride();
  serveCommand(root);
  statusCommand(root);
  doctorCommand(root);
  demoResetCommand(root);
  catalogCommands(root);
  accessCommands(root);
  keyCommands(root);
  recordCommands(root);
  approvalCommands(root);
  outreachCommands(root);
  eventsCommands(root);
  projectionsCommands(root);
  logCommands(root);
  helpCommand(root);
  return root;
};
