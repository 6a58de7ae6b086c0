import { Command } from 'commander';
import { accessCommands } from './access.ts';
import { approvalCommands } from './approvals.ts';
import { catalogCommands } from './catalog.ts';
import { demoResetCommand } from './demo-reset.ts';
import { doctorCommand } from './doctor.ts';
import { eventsCommands } from './events.ts';
import { EXIT_HELP } from './exit.ts';
import { HELP, helpCommand } from './help.ts';
import { keyCommands } from './keys.ts';
import { logCommands } from './log.ts';
import { outreachCommands } from './outreach.ts';
import { projectionsCommands } from './projections.ts';
import { recordCommands } from './records.ts';
import { serveCommand } from './serve.ts';
import { statusCommand } from './status.ts';
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
