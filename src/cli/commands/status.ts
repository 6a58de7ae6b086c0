/** The command that shows a running service, and with `--check` whether everything it needs is there. */
import { parkedOf } from '#src/reading/lag.ts';
import { demoFactsIn } from '#src/demo/facts.ts';
import { withDesk } from '#src/cli/desk.ts';
import { tokenIn } from '#src/cli/transport.ts';
import { type CommonOptions, commandLine, configFor } from '../options.ts';
import {
  accessReport,
  formatBanner,
  findProcess,
  type Check,
  runCheck,
  fault,
  ok,
  checkDirectory,
  checkReads,
  checkStores,
} from '#src/cli/service.ts';
import {
  CommandError,
  EXIT,
  printResult,
  formatTable,
  print,
  printNotice,
  style,
} from '#src/cli/terminal.ts';
import { runtimeFault } from '#src/system/runtime.mjs';
import { type Config, redactUrl } from '#src/config.ts';
import { settingsOf } from '#src/core.ts';

/** Prints again what the running service printed when it was ready; with `check`, what the checks of the installation found. */
export const showStatus = async (options: CommonOptions & { check?: boolean }): Promise<void> => {
  if (options.check) {
    const { diagnose } = await import('./status.ts');
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
    skipped: projections.filter(({ skipped }) => skipped > 0).map(({ name }) => name),
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

const SIGNS = { ok: ['green', '✓'], warning: ['yellow', '!'], fault: ['red', '✗'] } as const;

const checkNode = (): Promise<Check> =>
  runCheck('node', () => {
    const { node, sqlite } = process.versions;
    const problem = runtimeFault();
    return problem === undefined ? ok(`${node}, with SQLite ${sqlite}`) : fault(problem);
  });

const checkSettings = (config: Config): Promise<Check> =>
  runCheck('settings', () => {
    settingsOf(config);
    const { host, port, production, eventLogUrl, readModelUrl, publicUrl } = config;
    const address = `${host}:${port}${publicUrl === undefined ? '' : ` as ${publicUrl}`}`;
    const stores = `log ${redactUrl(eventLogUrl)}, read models ${redactUrl(readModelUrl.href)}`;
    return ok(`${address}, ${stores}, NODE_ENV ${production ? 'production' : 'not production'}`);
  });

export const diagnose = async (options: CommonOptions): Promise<void> => {
  const config = configFor(options);
  const server = await findProcess(config.dataDirectory);
  const checks = [
    ...(await Promise.all([checkNode(), checkSettings(config)])),
    ...(await checkDirectory(config, server)),
    ...(await checkStores(config)),
    ...(server ? [await checkReads(server, config.dataDirectory)] : []),
  ];
  const rows = checks.map(({ name, state, detail }) => {
    const [color, sign] = SIGNS[state];
    return [style(color, sign), name, detail];
  });
  (options.json ? printNotice : print)(formatTable(rows));
  const faults = checks.filter(({ state }) => state === 'fault').map(({ name }) => name);
  const report = { healthy: faults.length === 0, checks };
  if (faults.length > 0)
    throw new CommandError(EXIT.differs, `faults found: ${faults.join(', ')}`, report);
  if (options.json) print(JSON.stringify(report));
};
