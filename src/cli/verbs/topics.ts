/** The groups of commands by their first word, in the order of `tributary --help`. */
type Topic = { section: string; about?: string; alias?: string };

const SERVICE = 'Service:';
const ACCESS = 'Agents and people:';
const RECORDS = 'Catalog and records:';
const OUTREACH = 'Outreach:';
const LOG = 'Log and read models:';

export const TOPICS: Readonly<Record<string, Topic>> = {
  serve: { section: SERVICE },
  status: { section: SERVICE },
  'demo-reset': { section: SERVICE },
  clock: { section: SERVICE, about: 'Decide whether the clock or the log is right' },
  access: { section: ACCESS, about: 'Review which agents may act' },
  key: { section: ACCESS, about: 'Manage the API keys of agents' },
  owner: { section: ACCESS, about: 'Manage who the promoters are, and where notices to them go' },
  token: { section: ACCESS, about: 'Manage the tokens of people at the desk' },
  catalog: { section: RECORDS, about: 'Publish and withdraw products' },
  lead: { section: RECORDS, about: 'Manage leads' },
  handoff: { section: RECORDS, about: 'Manage handoffs, the lists for buyers' },
  rfq: { section: RECORDS, about: 'Answer the RFQs of buyers and record their outcomes' },
  plan: { section: RECORDS, about: 'Assign leads, RFQs and requests, note, and plan next steps' },
  link: { section: RECORDS, about: 'Manage attributed links' },
  erase: { section: RECORDS },
  privacy: { section: RECORDS, about: 'Find, export and erase the data of a person' },
  mail: { section: SERVICE, about: 'Read the mail that is stored in the data directory' },
  approvals: {
    section: OUTREACH,
    about: 'Review and decide the outreach that agents propose',
    alias: 'approval',
  },
  outreach: { section: OUTREACH, about: 'Set approvers and channels of outreach, and halt it' },
  audit: {
    section: LOG,
    about: "Show an owner's history, and its records and numbers at any position",
  },
  events: { section: LOG, about: 'Show events of the log', alias: 'event' },
  projections: { section: LOG, about: 'Manage the read models', alias: 'projection' },
  log: { section: LOG, about: 'Verify, copy and adopt the event log' },
};

/** Returns the topic of a first word or of its alias; a derived command may have a new one. */
export const topicOf = (word: string): [name: string, topic: Topic] =>
  Object.entries(TOPICS).find(([name, { alias }]) => name === word || alias === word) ?? [
    word,
    { section: 'Other:' },
  ];
