/** Checks everything that the service needs. */
import { requireSqlite } from '#src/stores/sqlite/open.ts';
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

const NODE_MIN = [24, 12] as const;
const SIGNS = { ok: ['green', '✓'], warning: ['yellow', '!'], fault: ['red', '✗'] } as const;

const checkNode = (): Promise<Check> =>
  runCheck('node', () => {
    const { node } = process.versions;
    const [major = 0, minor = 0] = node.split('.').map(Number);
    const isNew = major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1]);
    return isNew ? ok(node) : fault(`${node}; ${NODE_MIN.join('.')} or newer is needed`);
  });

const checkSqlite = (): Promise<Check> =>
  runCheck('sqlite', () => {
    const { sqlite = '0' } = process.versions;
    requireSqlite(sqlite);
    return ok(sqlite);
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
    ...(await Promise.all([checkNode(), checkSqlite(), checkSettings(config)])),
    ...(await checkDirectory(config, server)),
    ...(await checkStores(config)),
    ...(server ? [await checkReads(server)] : []),
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
