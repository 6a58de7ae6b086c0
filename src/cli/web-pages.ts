/** The pages of records, which `--web` opens in the browser of the person. */
import { spawn } from 'node:child_process';
import { platform } from 'node:os';
import type { DeskOperationId } from '#contracts/registries/desk.ts';
import { onLocalhost } from '#src/shared/localhost.ts';
import { CommandError, EXIT, printResult } from './terminal.ts';
import type { Desk } from './transport.ts';

type Asked = {
  /** What the command line names, by field. */
  request: Readonly<Record<string, string | undefined>>;
  /** Whether the person is staff, who work on the pages of the desk. */
  isStaff: boolean;
  /** The promoter whose page it is. */
  owner(): Promise<string>;
};

const id = ({ request }: Asked, field: string): string => encodeURIComponent(request[field] ?? '');

/** A page of a promoter. */
const ofOwner =
  (section: string, field?: string) =>
  async (asked: Asked): Promise<string> =>
    `/o/${await asked.owner()}${section}${field === undefined ? '' : `/${id(asked, field)}`}`;

/** A record that staff have on the desk, and its promoter on its own page. */
const record = (section: string, field: string) => async (asked: Asked) =>
  asked.isStaff ? `/desk/r/${id(asked, field)}` : ofOwner(section, field)(asked);

/** What staff have in the inbox, and a promoter on its own page. */
const waiting = (kind: string, section: string) => async (asked: Asked) =>
  asked.isStaff
    ? `/desk?${new URLSearchParams({ kind, ...(asked.request['owner_id'] && { owner: asked.request['owner_id'] }) }).toString()}`
    : ofOwner(section)(asked);

/** The sections of a promoter's records, by the beginnings of their ids. */
const SECTIONS: Readonly<Record<string, string>> = { lnk: '/links', hnd: '/lists', led: '/leads' };

const PAGES: { readonly [Id in DeskOperationId]?: (asked: Asked) => Promise<string> } = {
  listInbox: async () => '/desk',
  readRfq: record('/lists', 'handoff_id'),
  readLead: record('/leads', 'lead_id'),
  readPlan: async (asked) => `/desk/r/${id(asked, 'record_id')}`,
  readAgent: record('/agents', 'agent_id'),
  readKey: ofOwner('/keys', 'key_id'),
  readPerson: ofOwner('/people', 'person_id'),
  readOwnerRecord: (asked) =>
    ofOwner(SECTIONS[asked.request['id']?.slice(0, 3) ?? ''] ?? '/lists', 'id')(asked),
  readOwnerProfile: ofOwner('/profile'),
  showApproval: async (asked) => `/approvals/${id(asked, 'outbound_id')}`,
  showPerformance: ofOwner(''),
  listAccessRequests: waiting('access', '/agents'),
  listAgents: ofOwner('/agents'),
  listApprovals: async (asked) =>
    asked.request['owner_id'] === undefined ? '/approvals' : ofOwner('/approvals')(asked),
  listHandoffs: ofOwner('/lists'),
  listKeys: ofOwner('/agents'),
  listLinks: ofOwner('/links'),
  listOpenLeads: waiting('lead', '/leads'),
  listOwnerLeads: ofOwner('/leads'),
  listRfqs: waiting('rfq', '/rfqs'),
};

export const hasWebPage = (operation: DeskOperationId): boolean => PAGES[operation] !== undefined;

const NO_SERVER = new CommandError(
  EXIT.cannotStart,
  'No service runs here, so there is no page. Start it, or name one with --url.',
);
const NO_OWNER = new CommandError(
  EXIT.usage,
  'You act for several promoters, or for none: name the promoter with --owner.',
);

/** The promoter of a request: as it names it, of the record that it names, or the only one of the person. */
const ownerOf = async (
  desk: Desk,
  operation: DeskOperationId,
  { request, owners }: { request: Asked['request']; owners: readonly string[] },
): Promise<string> => {
  if (request['owner_id'] !== undefined) return request['owner_id'];
  const [only, another] = owners;
  if (only !== undefined && another === undefined) return only;
  if (operation !== 'readAgent' && operation !== 'readKey') throw NO_OWNER;
  const read = await desk.call(operation, request);
  return read.owner_id;
};

const OPENERS: Readonly<Record<string, string>> = { darwin: 'open', win32: 'explorer' };

/** Opens an address in the browser, if the machine has one. The address is printed in any case. */
const openInBrowser = (url: string): void => {
  const opener = OPENERS[platform()] ?? 'xdg-open';
  const browser = spawn(opener, [url], { stdio: 'ignore', detached: true });
  browser.on('error', () => undefined);
  browser.unref();
};

/** The address of the page of what a command reads. Throws CommandError if there is none. */
export const pageAddress = async (
  desk: Desk,
  operation: DeskOperationId,
  request: object,
): Promise<string> => {
  const page = PAGES[operation];
  if (!desk.server || !page) throw NO_SERVER;
  const named = request as Asked['request'];
  const { roles, owners } = await desk.call('whoAmI', {});
  const path = await page({
    request: named,
    isStaff: roles.some((role) => role === 'staff'),
    owner: () => ownerOf(desk, operation, { request: named, owners }),
  });
  return onLocalhost(desk.server.url) + path;
};

/** Prints the address of a page, and opens it unless a program reads the output. */
export const openPage = (options: { json?: boolean }, url: string): void => {
  printResult(options, { url }, url);
  if (!options.json) openInBrowser(url);
};
