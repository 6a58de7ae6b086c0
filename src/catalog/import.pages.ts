/** The import of a feed for staff: a preview of what it would change, and the import of exactly that. */
import { deflate, inflate } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'hono/html';
import { needsConfirmation, source as sourceName } from '#contracts/catalog/operations.ts';
import { PRODUCT_LIMITS } from '#contracts/limits.ts';
import { writer } from '#src/owners/owner-frame.pages.ts';
import { deskPage, mayPerform, NOT_STAFF } from '#src/records/desk-frame.pages.ts';
import type { App } from '#src/registries/app.ts';
import { isRefusal, Refused } from '#src/shared/outcome.ts';
import { sendErrorPage } from '#src/web/error-pages.ts';
import { arrivalOf } from '#src/web/http.ts';
import {
  describedBy,
  facts,
  field,
  type Html,
  invalid,
  notice,
  type Page,
  sendPage,
  tick,
  type You,
} from '#src/web/layout.ts';
import { type Content, dataTable, type FormState, NO_FORM } from '#src/web/parts.ts';
import {
  acceptPeople,
  answerRefusal,
  formFields,
  formOf,
  newKey,
  readCookie,
  type SignedIn,
  signedIn,
  type Typed,
} from '#src/web/person-admission.ts';
import { acceptUploads, uploadedFile } from '#src/web/uploads.ts';
import { type FeedFault, type FeedFormat, readFeed } from './feed.ts';
import {
  changedCells,
  countAbsent,
  endAbsent,
  type FeedAbsent,
  type FeedChanges,
  FeedSender,
  type FeedSettings,
} from './feed-sender.ts';
import { productIdOfSku } from './import-products.ts';

const PATH = '/desk/catalog/import';
const MEGABYTE = 1_048_576;
const FEED_BYTES_MAX = 4 * MEGABYTE;
/** A feed that does not compress is longer as a field of the preview. */
const UPLOAD_BYTES_MAX = 2 * FEED_BYTES_MAX;
const ROWS_SHOWN = 100;
const SOURCE_CHARS_MAX = PRODUCT_LIMITS.SKU_CHARS_MAX;

const TOO_LARGE = {
  title: 'The file is too large for this page',
  detail: `This page accepts a feed of at most ${FEED_BYTES_MAX / MEGABYTE} MB. Import a larger one with the command line, which accepts any size: tributary catalog import FILE --dry-run shows what would change. Nothing was changed.`,
  next: { path: PATH, text: 'Back to the import' },
};

/** The format, by what the text looks like: objects, or a first line with tabs or commas. */
const formatOf = (bytes: Buffer): FeedFormat => {
  const start = bytes
    .subarray(0, 4_096)
    .toString()
    .replace(/^\ufeff/, '')
    .trimStart();
  if (start.startsWith('{')) return 'ndjson';
  return start.split(/[\r\n]/, 1)[0]?.includes('\t') ? 'tsv' : 'csv';
};

async function* once(bytes: Buffer): AsyncIterable<Buffer> {
  yield bytes;
}

const pack = (bytes: Buffer): Promise<string> =>
  new Promise((resolve, reject) => {
    deflate(bytes, (error, packed) => (error ? reject(error) : resolve(packed.toString('base64'))));
  });

/** Undefined for what was not packed here. */
const unpack = (text: string): Promise<Buffer | undefined> =>
  new Promise((resolve) => {
    const options = { maxOutputLength: FEED_BYTES_MAX };
    inflate(Buffer.from(text, 'base64'), options, (error, bytes) =>
      resolve(error ? undefined : bytes),
    );
  });

/** How the feed is imported, as its form says. */
type Settings = Pick<FeedSettings, 'source' | 'replace' | 'allow_free'> & { ends: boolean };

const settingsOf = ({ source = '', replace, allow_free, ends }: Typed): Settings => ({
  ...(source.trim() !== '' && { source: source.trim() }),
  replace: replace === 'yes',
  allow_free: allow_free === 'yes',
  ends: ends === 'yes',
});

/** What the import of a feed does, or would do. */
type FeedResult = {
  sender: FeedSender;
  absent: FeedAbsent;
  ended: number;
  faults: FeedFault[];
  notes: string[];
  changes: FeedChanges;
  titles: Map<string, string>;
  /** Why the whole file was not read. */
  fault?: string;
};

type Run = { app: App; person: SignedIn; feed: Buffer; settings: Settings };

/** Makes the calls of one import, each with its own idempotency key, so that a second press has no second effect. */
const callsOf = ({ app, person }: Pick<Run, 'app' | 'person'>, key: string) => {
  let calls = 0;
  return async (input: object) => {
    calls += 1;
    const outcome = await app.desk.perform(person.admission, 'importProducts', {
      input: { ...input, idempotency_key: `${key}:${calls}` },
    });
    if (isRefusal(outcome)) throw new Refused(outcome);
    return outcome.value;
  };
};

/** Reads the feed to its end and sends its products: in a dry run, or so that only what a dry run showed is imported. */
const runFeed = async (
  { feed, settings, ...run }: Run,
  how: { key: string; dry_run?: true; unchanged_since?: number },
): Promise<FeedResult> => {
  const { key, ...mode } = how;
  const { ends, ...given } = settings;
  const call = callsOf(run, key);
  const faults: FeedFault[] = [];
  const notes: string[] = [];
  const changes: FeedChanges = [];
  const titles = new Map<string, string>();
  const sender = new FeedSender(
    call,
    { ...given, ...mode },
    { onFault: (fault) => faults.push(fault), onChanges: (more) => changes.push(...more) },
  );
  const none: FeedAbsent = { absent: 0, of_source: 0, skus: [], concerned: [] };
  const made = { sender, absent: none, ended: 0, faults, notes, changes, titles };
  for await (const item of readFeed(formatOf(feed), once(feed))) {
    if ('product' in item) {
      const { sku, title = sku } = item.product.product;
      titles.set(sku, title);
      await sender.add({ product: item.product, line: item.line });
    } else if ('ofFile' in item) return { ...made, fault: item.reason };
    else if ('reason' in item) sender.reject(item);
    else if ('note' in item) notes.push(`Line ${item.line}: ${item.column} ${item.note}.`);
    else notes.push(`These columns are unknown and ignored: ${item.unknown_columns.join(', ')}.`);
  }
  await sender.send();
  if (!ends || sender.rows.unnamed.size > 0) return made;
  const absent = await countAbsent(call, sender.rows.skus, given.source);
  const ended = mode.dry_run ? 0 : await endAbsent(call, absent, { ...given, ...mode });
  return { ...made, absent, ended };
};

const formFault = (state: FormState): Html | '' =>
  state.refused === undefined
    ? ''
    : html`<div class="notice bad" role="alert" id="faults" tabindex="-1" autofocus><h2>${state.refused.title}</h2><p>${state.refused.detail}</p></div>`;

const COLUMNS_TEXT = html`A feed has at least the columns <code>id</code>, <code>title</code>, <code>price</code>, and
<code>availability</code> or <code>available_quantity</code>, named as for Google Merchant Center. It is CSV, TSV or NDJSON in UTF-8,
of at most ${FEED_BYTES_MAX / MEGABYTE} MB.`;

const settingFields = ({ typed, faults }: FormState): Html =>
  html`${field({
    name: 'source',
    label: 'Name of the feed',
    hint: 'Stored with each product, so that two feeds do not end the products of each other',
    value: typed['source'],
    autocomplete: 'off',
    maxlength: SOURCE_CHARS_MAX,
    faults,
  })}${(
    [
      ['ends', 'Withdraw the products of this feed that the file no longer has'],
      ['replace', 'Remove what the file has no column for'],
      ['allow_free', 'Accept prices of 0'],
    ] as const
  ).map(([name, label]) =>
    tick({ id: name, name, value: 'yes', label, isTicked: typed[name] === 'yes' }),
  )}`;

const framed = (you: You, title: string, main: Html): Page =>
  deskPage({
    you,
    tab: '/desk/catalog',
    title,
    above: html`<a href="/desk/catalog">Catalog</a>${title !== FORM_TITLE && html` · <a href="${PATH}">${FORM_TITLE}</a>`}`,
    main,
  });
const FORM_TITLE = 'Import a feed';

const formPage = (you: You, state: FormState): Page => {
  const fault = state.faults.get('feed');
  return framed(
    you,
    FORM_TITLE,
    html`${formFault(state)}<p>${COLUMNS_TEXT} The next page shows what would change; nothing is written before you confirm it.</p>
<form method="post" action="${PATH}/preview" enctype="multipart/form-data" novalidate>${formFields(you)}
<div class="field${fault ? ' wrong' : ''}"><label for="feed">File</label>${fault && html`<p class="fault" id="feed-fault">${fault}</p>`}
<input id="feed" name="feed" type="file" accept=".csv,.tsv,.ndjson,text/csv"${describedBy(fault ? 'feed-fault' : '')}${invalid(fault)}></div>
<div class="field"><label for="text">Or its text <span class="quiet">(optional)</span></label>
<textarea id="text" name="text" rows="6" autocomplete="off" spellcheck="false">${state.typed['text'] ?? ''}</textarea></div>
${settingFields(state)}<button type="submit">Show what would change</button></form>`,
  );
};

const productLink = (sku: string, title: string = sku): Html =>
  html`<a href="/desk/catalog/${productIdOfSku(sku)}"><bdi>${title}</bdi></a>${title !== sku && html`<span class="hint sku">${sku}</span>`}`;

/** The first rows of a long list, and how many there are. */
const shownOf = <Row>(rows: readonly Row[], what: string) => ({
  rows: rows.slice(0, ROWS_SHOWN),
  caption:
    rows.length > ROWS_SHOWN
      ? `The first ${ROWS_SHOWN} of ${writer.count(rows.length)} ${what}`
      : `${writer.count(rows.length)} ${what}`,
});

/** A list of the outcome, with its first rows; nothing for an empty one. */
const listSection = <Row>(
  heading: string,
  { rows, caption }: { rows: readonly Row[]; caption: string },
  { heads, cells }: { heads: readonly string[]; cells(row: Row): Content[] },
): Html | '' =>
  rows.length === 0
    ? ''
    : html`<section><h2>${heading}</h2>${dataTable(
        caption,
        heads.map((head) => ({ head })),
        { rows: rows.map(cells), empty: '' },
      )}</section>`;

const changedOf = ({ changes }: FeedResult, kind: 'new' | 'changed') =>
  shownOf(
    changes.filter(({ change }) => change === kind),
    kind,
  );

const changedTable = (result: FeedResult): Html | '' =>
  listSection('Changed', changedOf(result, 'changed'), {
    heads: ['Product', 'Before and after'],
    cells: (one) => [
      productLink(one.sku, result.titles.get(one.sku)),
      html`<ul class="plain">${changedCells(one).map(
        ({ column, before, after }) =>
          html`<li>${column}: <del>${before}</del> → <ins>${after}</ins></li>`,
      )}</ul>`,
    ],
  });

const newTable = (result: FeedResult): Html | '' =>
  listSection('New', changedOf(result, 'new'), {
    heads: ['Product', 'SKU'],
    cells: ({ sku }) => [
      html`<bdi>${result.titles.get(sku)}</bdi>`,
      html`<span class="sku">${sku}</span>`,
    ],
  });

const goneTable = ({ absent: { skus, absent } }: FeedResult): Html | '' => {
  const rows = skus.slice(0, ROWS_SHOWN);
  const first = absent > rows.length ? `The first ${rows.length} of ` : '';
  const caption = `${first}${writer.count(absent)} that the file no longer has`;
  return listSection(
    'Gone',
    { rows, caption },
    {
      heads: ['Product'],
      cells: (sku) => [productLink(sku)],
    },
  );
};

const rejectedTable = ({ faults }: FeedResult): Html | '' =>
  listSection('Rejected lines', shownOf(faults, 'faults'), {
    heads: ['Line', 'Column', 'Why'],
    cells: ({ line, column = '', reason }) => [
      `Line ${writer.count(line)}`,
      column,
      html`<span dir="auto">${reason}</span>`,
    ],
  });

const countFacts = ({ sender }: FeedResult, gone: readonly [string, number]): Html => {
  const { read, rejected, ...counts } = sender.totals();
  const { republished } = sender.sums;
  return facts(
    (
      [
        ['Rows read', read],
        ['New', counts.new],
        ['Changed', counts.changed],
        ...(republished > 0 ? [['Of those for sale again', republished] as const] : []),
        ['Unchanged', counts.unchanged],
        gone,
        ['Rejected', rejected],
      ] as const
    ).map(([name, count]) => [name, writer.count(count)] as const),
  );
};

const noteList = ({ notes, sender }: FeedResult, { ends }: Settings): Html => {
  const [unnamed] = sender.rows.unnamed;
  return html`${notes.length > 0 && notice('calm', html`${notes.slice(0, ROWS_SHOWN).map((note) => html`<p>${note}</p>`)}`)}${
    ends &&
    unnamed !== undefined &&
    notice(
      'warn',
      html`<p>Nothing is withdrawn: line ${unnamed} can be of any product, because its id cannot be read. Correct it, and import the feed again.</p>`,
    )
  }`;
};

const confirmForm = (
  you: You,
  outcome: FeedResult,
  { packed, typed, fault }: { packed: string; typed: Typed; fault: boolean },
): Html => {
  const { sender, absent } = outcome;
  const counts = sender.totals();
  if (counts.new + counts.changed + absent.absent === 0)
    return html`<p><strong>${
      counts.read > 0 && counts.read === counts.rejected
        ? 'Nothing can be imported: every line has a fault.'
        : 'Nothing would change: the catalog has everything that the file has without a fault.'
    }</strong> <a href="${PATH}">Import another feed</a></p>`;
  const kept = ['source', 'replace', 'allow_free', 'ends'].filter((name) => typed[name]);
  return html`<form method="post" action="${PATH}/confirm" enctype="multipart/form-data" novalidate>${formFields(you)}
<input type="hidden" name="packed" value="${packed}"><input type="hidden" name="since" value="${String(sender.position ?? 0)}">
${kept.map((name) => html`<input type="hidden" name="${name}" value="${typed[name] ?? ''}">`)}${
  needsConfirmation(absent.absent, absent.of_source) &&
  html`${notice('warn', html`<p>${writer.count(absent.absent)} of ${writer.count(absent.of_source)} products of this feed are not in the file, more than a fifth, as if it were cut off.</p>`)}
${fault && html`<p class="fault" role="alert">Confirm that the file is complete, or import it without withdrawing.</p>`}${tick(
  {
    id: 'complete',
    name: 'complete',
    value: 'yes',
    label: 'The file is complete: withdraw them',
  },
)}`
}<button type="submit">Import exactly this</button></form>`;
};

const previewPage = (
  you: You,
  outcome: FeedResult,
  form: { packed: string; typed: Typed; fault: boolean },
): Page =>
  framed(
    you,
    'What would change',
    html`${countFacts(outcome, ['To withdraw', outcome.absent.absent])}${noteList(outcome, settingsOf(form.typed))}
${confirmForm(you, outcome, form)}
${rejectedTable(outcome)}${changedTable(outcome)}${newTable(outcome)}${goneTable(outcome)}`,
  );

const resultPage = (you: You, outcome: FeedResult, settings: Settings): Page =>
  framed(
    you,
    'Imported',
    html`${notice('good', html`<p role="status">The feed is imported. <a href="/desk/catalog">See the catalog</a></p>`)}
${countFacts(outcome, ['Withdrawn', outcome.ended])}${noteList(outcome, settings)}${rejectedTable(outcome)}`,
  );

const refusedState = (typed: Typed, detail: string, faultOf = 'feed'): FormState => ({
  ...NO_FORM,
  typed,
  faults: new Map([[faultOf, detail]]),
  refused: { title: 'The feed cannot be imported', detail, faults: [] },
});

/** After a sign-in in the middle: what a form has is read only of somebody who is signed in. */
const NOT_READ = refusedState(
  {},
  'Your session had ended, so the file was not read. You are signed in again: choose it again.',
);

/** What is wrong with a form before its feed is read. */
const formFaultOf = (
  sent: Typed,
  feed: Buffer | undefined,
): readonly [field: string, detail: string] | undefined => {
  const { source, ends } = settingsOf(sent);
  if (!feed) return ['feed', 'Choose a file, or paste its text.'];
  if (source !== undefined && !sourceName.safeParse(source).success)
    return ['source', `The name of a feed has at most ${SOURCE_CHARS_MAX} characters, like main.`];
  return ends && source === undefined
    ? ['source', 'Name the feed whose products end, or leave out the withdrawal.']
    : undefined;
};

const showPreview = async (
  request: FastifyRequest,
  { reply, app, person }: { reply: FastifyReply; app: App; person: SignedIn },
): Promise<FastifyReply> => {
  const { you } = person;
  const sent = formOf(request);
  const { text = '' } = sent;
  const feed =
    uploadedFile(request, 'feed') ?? (text.trim() === '' ? undefined : Buffer.from(text));
  if (feed && feed.length > FEED_BYTES_MAX) return sendErrorPage(reply, 413, TOO_LARGE);
  const fault = formFaultOf(sent, feed);
  const state = (detail: string, of?: string) => formPage(you, refusedState(sent, detail, of));
  if (!feed || fault) return sendPage(reply, 422, state(fault?.[1] ?? '', fault?.[0]));
  const settings = settingsOf(sent);
  const run = { app, person, feed, settings };
  const outcome = await runFeed(run, { key: newKey(), dry_run: true });
  if (outcome.fault !== undefined)
    return sendPage(reply, 422, state(`It has a fault: ${outcome.fault}.`));
  const form = { packed: await pack(feed), typed: sent, fault: false };
  return sendPage(reply, 200, previewPage(you, outcome, form));
};

const confirmPreview = async (
  request: FastifyRequest,
  { reply, app, person }: { reply: FastifyReply; app: App; person: SignedIn },
): Promise<FastifyReply> => {
  const { you } = person;
  const sent = formOf(request);
  const { packed = '', since = '', key = newKey() } = sent;
  const feed = await unpack(packed);
  if (!feed || !/^\d{1,15}$/.test(since))
    return sendPage(
      reply,
      422,
      formPage(you, refusedState({}, 'The preview was not sent whole. Choose the file again.')),
    );
  const settings = settingsOf(sent);
  const run = { app, person, feed, settings };
  if (settings.ends && sent['complete'] !== 'yes') {
    const now = await runFeed(run, { key: newKey(), dry_run: true });
    if (needsConfirmation(now.absent.absent, now.absent.of_source))
      return sendPage(reply, 422, previewPage(you, now, { packed, typed: sent, fault: true }));
  }
  const outcome = await runFeed(run, { key, unchanged_since: Number(since) });
  return sendPage(reply, 200, resultPage(you, outcome, settings));
};

/** Serves `/desk/catalog/import`. The body of a form is read only for people who are signed in. */
export const importRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  await acceptPeople(scope, app);
  acceptUploads(scope, { max: UPLOAD_BYTES_MAX, admit: admitFirst(app) });
  scope.get(PATH, async (request, reply) => {
    const person = await signedIn(request, reply, app);
    if (!person) return reply;
    return mayPerform(person.you, 'importProducts')
      ? sendPage(reply, 200, formPage(person.you, person.kept ? NOT_READ : NO_FORM))
      : answerRefusal(request, reply, { app, refusal: NOT_STAFF });
  });
  for (const [name, answer] of [
    ['preview', showPreview],
    ['confirm', confirmPreview],
  ] as const) {
    const path = `${PATH}/${name}`;
    const config = { isButton: true };
    scope.get(path, { config }, (_request, reply) => reply.redirect(PATH, 303));
    scope.post(path, { config, errorHandler: onTooLarge }, async (request, reply) => {
      const person = await signedIn(request, reply, app);
      if (!person) return reply;
      try {
        return await answer(request, { reply, app, person });
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        return answerRefusal(request, reply, { app, refusal: error.refusal });
      }
    });
  }
};

/** Refuses before the body is read: its memory is for people of this desk only. */
const admitFirst = (app: App) => async (request: FastifyRequest, reply: FastifyReply) => {
  const credential = readCookie(request, app, 'session');
  const arrival = { ...arrivalOf(request, 'portal'), credential, page: PATH };
  const admitted = await app.desk.admit(arrival, { exchange: 'page' });
  if (!admitted.ok) return answerRefusal(request, reply, { app, refusal: admitted });
  return mayPerform({ roles: [...admitted.value.caller.roles] }, 'importProducts')
    ? undefined
    : answerRefusal(request, reply, { app, refusal: NOT_STAFF });
};

const onTooLarge = (error: Error, _request: FastifyRequest, reply: FastifyReply): void => {
  if (!(error instanceof Refused && error.refusal.code === 'payload_too_large')) throw error;
  void sendErrorPage(reply, 413, TOO_LARGE);
};
