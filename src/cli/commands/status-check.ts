/** Checks everything that the service needs. */
import { runtimeFault } from '#src/system/runtime.mjs';
import { type Config, redactUrl } from '#src/config.ts';
import { settingsOf } from '#src/core.ts';
import { type CommonOptions, configFor } from '../options.ts';
import {
  type Check,
  runCheck,
  fault,
  ok,
  checkDirectory,
  checkReads,
  checkStores,
  findProcess,
} from '#src/cli/service.ts';
import { CommandError, EXIT, formatTable, print, printNotice, style } from '#src/cli/terminal.ts';

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
