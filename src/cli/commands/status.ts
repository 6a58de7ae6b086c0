/** The command that shows a running service, and with `--check` whether everything it needs is there. */
import { parkedOf } from '#src/reading/lag.ts';
import { demoFactsIn } from '#src/demo/facts.ts';
import { withDesk } from '#src/cli/desk.ts';
import { tokenIn } from '#src/cli/transport.ts';
import { type CommonOptions, commandLine, configFor } from '../options.ts';
import { accessReport, formatBanner, findProcess } from '#src/cli/service.ts';
import { CommandError, EXIT, printResult } from '#src/cli/terminal.ts';

/** Prints again what the running service printed when it was ready; with `check`, what the checks of the installation found. */
export const showStatus = async (options: CommonOptions & { check?: boolean }): Promise<void> => {
  if (options.check) {
    const { diagnose } = await import('./status-check.ts');
    return diagnose(options);
  }
  const config = configFor(options);
  const { dataDirectory: data } = config;
  const server = await findProcess(data);
  if (!server) {
    const text = `No server runs on ${data}. Start one: ${commandLine('serve', data)}`;
    throw new CommandError(EXIT.cannotStart, text, { running: false, data });
  }
  const { url, pid, role, log_hosts: logHosts } = server;
  if (role) {
    const text = `A ${role} runs on ${data} (process ${pid}); ${url}/readyz shows its state.`;
    printResult(options, { running: true, role, url, pid, data }, text);
    return;
  }
  const { head, data: projections } = await withDesk(options, (desk) =>
    desk.call('listProjections', {}),
  );
  const facts = demoFactsIn(data);
  const deskToken = tokenIn(data);
  const report = {
    running: true,
    url,
    pid,
    data,
    position: head,
    parked: parkedOf(projections),
    ...accessReport(url, facts, deskToken),
  };
  const readModels = projections.map(({ lag_events: lagEvents, ...rest }) => ({
    ...rest,
    lagEvents,
  }));
  const demo = facts && { facts, deskToken };
  printResult(
    options,
    report,
    formatBanner({ url, config, logHosts, head, readModels, ...(demo && { demo }) }),
  );
};
