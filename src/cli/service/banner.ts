/** What a person sees when the service is ready, and again with `tributary status`. */
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { hostsOf } from '#src/system/hosts.ts';
import { parkedOf } from '#src/reading/lag.ts';
import { type Config, isRemoteLog } from '#src/config.ts';
import type { DemoFacts } from '#src/demo/facts.ts';
import { formatCount, formatPlural, style } from '../terminal/output.ts';
import { VERSION } from '../version.ts';

type DemoAccess = { facts: DemoFacts; deskToken: string };

export type BannerFacts = {
  url: string;
  config: Pick<Config, 'dataDirectory' | 'eventLogUrl'>;
  /** Seconds from the start of the process; absent if it started long ago. */
  readyS?: number;
  /** End of the log: the number of its events, unless it is on a server. */
  head: number;
  readModels: { name: string; lagEvents: number; parked: readonly unknown[] }[];
  /** Without it, no secret is printed. */
  demo?: DemoAccess;
};

export const INCOMPLETE_DEMO =
  'The demo was interrupted while it was written, or demo.json is missing, so its data may be incomplete. ' +
  'Stop the service, run make demo-reset, and start it again.';

/** Members of the JSON report of serve and status. */
export const accessReport = (
  url: string,
  facts: DemoFacts | undefined,
  deskToken: string | null,
) => ({
  owner: facts?.owner ?? null,
  agent: facts?.agent_id ?? null,
  api_key: facts?.api_key ?? null,
  desk_token: deskToken,
  ...(facts?.review_path && { review_url: url + facts.review_path }),
});

const shortPath = (directory: string): string => {
  const path = relative(process.cwd(), directory) || '.';
  return path.startsWith('..') ? directory : `./${path}`.replace('./.', '.');
};

const row = (label: string, text: string): string => `  ${label.padEnd(12)} ${text}`;

const titleText = ({ readyS }: BannerFacts): string => {
  const ready = readyS === undefined ? 'running' : `ready in ${readyS.toFixed(1)} s`;
  return style('bold', `tributary ${VERSION}`) + ` · node ${process.versions.node} · ${ready}`;
};

/** The shell of `status` may lack the EVENT_LOG_URL of the service: then the files say which log it is. */
const logText = ({ config, head }: BannerFacts): string => {
  const { dataDirectory, eventLogUrl } = config;
  if (existsSync(join(dataDirectory, 'log.db')))
    return `sqlite  ${shortPath(dataDirectory)}/log.db  ${formatPlural(head, 'event')}`;
  const hosts = isRemoteLog(config) ? `  ${hostsOf(eventLogUrl)}` : '';
  return `EventStoreDB${hosts}  position ${formatCount(head)}`;
};

const storeRows = (banner: BannerFacts): string[] => {
  const { readModels, demo } = banner;
  const caughtUp = readModels.filter(({ lagEvents }) => lagEvents === 0).length;
  const parked = parkedOf(readModels).join(', ');
  const parkedText = parked && `, parked: ${parked} (see tributary projections status)`;
  const demoText = demo ? ' (with demo data; DATA=dir starts elsewhere)' : '';
  const counts = `${formatCount(caughtUp)} of ${formatCount(readModels.length)} caught up`;
  return [row('Log', logText(banner) + demoText), row('Read models', counts + parkedText)];
};

const pageRows = ({ url, demo }: BannerFacts): string[] => [
  row('Start page', `${url}/`),
  row('For agents', `${url}/llms.txt`),
  row('Docs', `${url}/docs`),
  row('OpenAPI', `${url}/api/affiliate/openapi.json`),
  row('Agent Card', `${url}/.well-known/agent-card.json`),
  row('Problems', `${url}/problems`),
  ...(demo ? [row('Buyer page', buyerPage(url, demo.facts))] : []),
];

const buyerPage = (url: string, { review_path: path }: DemoFacts): string =>
  path ? url + path : style('yellow', `none. ${INCOMPLETE_DEMO}`);

const credentialRows = ({ facts, deskToken }: DemoAccess): string[] => [
  row('Demo key', `SERVICE_API_KEY=${facts.api_key}`),
  row('', style('dim', `agent of ${facts.owner} with all nine scopes; outreach needs an approval`)),
  row('Desk token', deskToken),
  row('', style('dim', 'staff, operator, auditor and owner; ./tributary reads it by itself')),
];

const INITIALIZE = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} });

/** Commands that work as they are pasted. */
const exampleRows = ({ url }: BannerFacts, { facts }: DemoAccess): string[] => {
  const api = `${url}/api/affiliate/v1`;
  const key = `-H "Authorization: Bearer ${facts.api_key}"`;
  const link = JSON.stringify({ target: { kind: 'product', ref: facts.sku }, campaign: 'hello' });
  return [
    row('Try', `curl -s ${api}/connection ${key}`),
    row('Search', `curl -s "${api}/products?q=mug&facets=category" ${key}`),
    row('Link', `curl -s ${api}/links ${key} -H "Content-Type: application/json" \\`),
    row('', `  -H "Idempotency-Key: hello-1" -d '${link}'`),
    row('Performance', `curl -s "${api}/performance?granularity=week" ${key}`),
    row('MCP', `curl -s ${url}/api/affiliate/mcp ${key} -H "Content-Type: application/json" \\`),
    row('', `  -d '${INITIALIZE}'`),
    row('Approvals', './tributary approvals list'),
  ];
};

export const formatBanner = (banner: BannerFacts): string => {
  const { demo, config } = banner;
  const access = demo
    ? [
        credentialRows(demo),
        exampleRows(banner, demo),
        [row('', style('yellow', 'Demo mode, plain HTTP, this machine only.')).trimEnd()],
      ]
    : [[row('Desk token', `${shortPath(config.dataDirectory)}/desk.token (only you can read it)`)]];
  const blocks = [[titleText(banner)], storeRows(banner), pageRows(banner), ...access];
  return `${blocks.map((block) => block.join('\n')).join('\n\n')}\n`;
};
