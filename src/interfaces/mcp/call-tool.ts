/** Performs a tool call, and fits its result into the size that clients accept. */
import { beginningOf } from '#contracts/texts.ts';
import { type BoundaryId, boundaryOf } from '#contracts/boundaries.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { InputFault } from '#contracts/problems.ts';
import { pointerOf } from '#src/calls/input.ts';
import { agentBudget } from '#src/calls/rules.ts';
import type { Budget } from '#src/shared/call.ts';
import { isRecord } from '#src/shared/json.ts';
import { type Done, type Outcome, type Refusal, forbidden, refuse } from '#src/shared/outcome.ts';
import { type Tool, toolNamed } from './tools.ts';
import {
  mcpFaultOf,
  invalidParams,
  isForModel,
  META,
  resultOf,
  SERVER,
  type McpAnswer,
  type McpRequest,
  problemOf,
} from './wire.ts';

/** What was cut from a value to keep its result small: rows of a list, or the end of a text. */
type Cut = { pointer: string; kept: number; of: number; unit: 'rows' | 'characters' };

/** Reserved for the envelope, _meta and the note about cuts. */
const AROUND_BYTES = 3_072;
/** A record up to this length always fits: each character takes at most 7 bytes in both forms together. */
const FITS_CHARS = 2_048;
/** Texts are not cut below this length. */
const TEXT_CHARS_MIN = 120;

/** Bytes of a record in a result, which has it as structuredContent and as escaped text. */
const bytesOf = (json: string): number =>
  Buffer.byteLength(json) + Buffer.byteLength(JSON.stringify(json));

const fits = (json: string): boolean =>
  json.length <= FITS_CHARS || bytesOf(json) <= LIMITS.TOOL_RESULT_BYTES_MAX - AROUND_BYTES;

type Member = { holder: Record<string, unknown>; name: string; pointer: string; bytes: number };

const isCuttable = (member: unknown): boolean =>
  Array.isArray(member)
    ? member.length > 1
    : typeof member === 'string' && member.length > TEXT_CHARS_MIN;

/** The largest list or text in a value; undefined when nothing is left to cut. */
const largestMember = (value: object): Member | undefined => {
  let largest: Member | undefined;
  const look = (holder: Record<string, unknown>, pointer: string): void => {
    for (const [name, member] of Object.entries(holder)) {
      const here = pointer + pointerOf([name]);
      const bytes = isCuttable(member) ? bytesOf(JSON.stringify(member)) : 0;
      if (bytes > (largest?.bytes ?? 0)) largest = { holder, name, pointer: here, bytes };
      if (typeof member === 'object' && member !== null)
        look(member as Record<string, unknown>, here);
    }
  };
  look(value as Record<string, unknown>, '');
  return largest;
};

/** Keeps as many items from the start of a list as fit, at least one; returns their number. O(log n) serializations. */
const cutRows = (whole: object, { holder, name }: Member): number => {
  const rows = holder[name] as unknown[];
  let [low, high] = [1, rows.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    holder[name] = rows.slice(0, middle);
    if (fits(JSON.stringify(whole))) low = middle;
    else high = middle - 1;
  }
  holder[name] = rows.slice(0, low);
  return low;
};

/** Keeps the first half of a text; a text that is halved again is one cut. */
const halveText = ({ holder, name, pointer }: Member, cuts: Cut[]): void => {
  const text = holder[name] as string;
  const half = beginningOf(text, Math.floor(text.length / 2));
  holder[name] = half;
  const earlier = cuts.find((cut) => cut.pointer === pointer && cut.unit === 'characters');
  if (earlier) earlier.kept = half.length;
  else cuts.push({ pointer, kept: half.length, of: text.length, unit: 'characters' });
};

/**
 * Cuts a copy of a record to the size limit of a tool's result: again and again the end of its largest list or
 * text. Returns the JSON and the cuts.
 */
const cutToSize = (value: object): { json: string; cuts: Cut[] } => {
  let json = JSON.stringify(value);
  if (fits(json)) return { json, cuts: [] };
  const whole = structuredClone(value);
  const cuts: Cut[] = [];
  while (!fits(json)) {
    const place = largestMember(whole);
    if (!place) throw new Error('a result cannot be cut to its size limit');
    const member = place.holder[place.name];
    if (Array.isArray(member)) {
      const of = member.length;
      cuts.push({ pointer: place.pointer, kept: cutRows(whole, place), of, unit: 'rows' });
    } else halveText(place, cuts);
    json = JSON.stringify(whole);
  }
  return { json, cuts };
};

/** An outcome as its result shows it: the record as JSON, and what was cut from it. */
type FittedResult = {
  ok: true;
  outcome: Done<unknown>;
  json: string;
  cuts: Cut[];
  how?: string;
};

const WHOLE = 'Resources hold whole records: tributary://handoffs/{id}, tributary://products/{id}.';
const CONTINUE = 'Go on with next_cursor.';

const isRows = ({ pointer, unit }: Cut): boolean => pointer === '/data' && unit === 'rows';

type Paged = { page: object };

/** Says in a page of a list how many of the rows that were read did not fit. */
const withRowsLeft = (value: Paged, { kept, of }: Cut): Paged => ({
  ...value,
  page: { ...value.page, rows_left: of - kept },
});

/**
 * Fits an outcome into a tool's result. A page of a list that is too large is read again with as many rows as fit, so
 * that its cursor continues after the last row shown: a client that follows the cursors sees every row.
 */
const fitResult = async (
  first: Done<unknown>,
  readAgain: (limit: number) => Promise<Outcome<unknown>>,
): Promise<FittedResult | Refusal> => {
  let outcome = first;
  let left: Cut | undefined;
  for (;;) {
    const value = left ? withRowsLeft(outcome.value as Paged, left) : (outcome.value as object);
    const { json, cuts } = cutToSize(value);
    const rows = 'page' in value ? cuts.find(isRows) : undefined;
    if (!rows) {
      if (left) return { ok: true, outcome, json, cuts: [left, ...cuts], how: CONTINUE };
      return { ok: true, outcome, json, cuts, ...(cuts.length > 0 && { how: WHOLE }) };
    }
    left = { ...rows, of: left?.of ?? rows.of };
    const smaller = await readAgain(left.kept);
    if (!smaller.ok) return smaller;
    outcome = smaller;
  }
};

/** The note about cuts for the model. */
const truncationNote = ({ cuts, how = '' }: Pick<FittedResult, 'cuts' | 'how'>): string => {
  const parts = cuts.map(
    ({ pointer, kept, of, unit }) =>
      `${pointer} shows ${kept} of ${of} ${unit}, ${of - kept} are left`,
  );
  return `Truncated to keep the result small: ${parts.join('; ')}. ${how}`;
};

/** What a tool call is audited as, and which budget it takes from. */
export const aboutTool = ({ name }: Record<string, unknown>): About => {
  const tool = typeof name === 'string' ? toolNamed(name) : undefined;
  return tool
    ? { operation: tool.id, budget: agentBudget(tool.operation) }
    : { operation: 'mcp:tools/call', budget: 'read' };
};

type About = { operation: string; budget: Budget };

/** tools/call: performs the operation with the tool's name, as REST does. */
export const callTool = async (request: McpRequest): Promise<McpAnswer> => {
  const { name, arguments: input = {} } = request.params;
  if (typeof name !== 'string') return invalidParams('/params/name', 'required', 'names the tool');
  const tool = toolNamed(name);
  if (!tool) return unknownTool(request, boundaryOf(name));
  if (!isRecord(input))
    return invalidParams('/params/arguments', 'invalid_type', 'must be an object');
  const { app, admission, requestId, consistencyToken } = request;
  const options = { consistencyToken };
  const performed = await app.agents.perform(admission, tool.id, { input, ...options });
  if (!performed.ok) return refused(request, performed);
  const outcome = tool.show ? { ...performed, value: tool.show(performed.value) } : performed;
  const { caller } = admission;
  const fit = await fitResult(outcome, (limit) =>
    app.agents.performInside(tool.id, {
      caller,
      surface: 'mcp',
      requestId,
      input: { ...input, limit },
      ...options,
    }),
  );
  return fit.ok ? success(request, tool, fit) : refused(request, fit);
};

const refused = (request: McpRequest, refusal: Refusal): McpAnswer =>
  isForModel(refusal) ? { ok: true, result: refusedResult(request, refusal) } : mcpFaultOf(refusal);

/** Answers a call of an unknown tool. One named after a forbidden act gets a result that says who can do it. */
const unknownTool = (request: McpRequest, boundary: BoundaryId | undefined): McpAnswer => {
  if (boundary === undefined)
    return mcpFaultOf(refuse('route_not_found', 'There is no such tool; tools/list shows yours.'), {
      code: -32602,
      status: 200,
    });
  const refusal = forbidden(boundary);
  request.app.agents.conclude(request.admission, `boundary:${boundary}`, refusal);
  return { ok: true, result: refusedResult(request, refusal) };
};

const ARGUMENTS = '/params/arguments';

/**
 * Answers a tool call that is refused before it is performed with a tool result: for an overload, or for its arguments.
 * Undefined for other refusals.
 */
export const refusedEarly = (context: ResultContext, refusal: Refusal): string | undefined => {
  const { code, errors = [] } = refusal;
  if (code === 'overloaded') return refusedResult(context, refusal);
  const isOfThem = ({ pointer }: InputFault): boolean => pointer.startsWith(`${ARGUMENTS}/`);
  if (errors.length === 0 || !errors.every(isOfThem)) return undefined;
  const own = errors.map((fault) => ({ ...fault, pointer: fault.pointer.slice(ARGUMENTS.length) }));
  return refusedResult(context, { ...refusal, errors: own });
};

type ResultContext = Pick<McpRequest, 'app' | 'requestId' | 'era'>;

/** A problem only as text: clients validate structuredContent even of errors. */
const refusedResult = ({ app, requestId, era }: ResultContext, refusal: Refusal): string => {
  const text = JSON.stringify(problemOf(refusal, { origin: app.origin(), requestId }));
  const members = { content: [{ type: 'text', text }], isError: true };
  return JSON.stringify(resultOf(era, members, { meta: { requestId } }));
};

/** Writes the result around a record that is JSON already. */
const success = ({ app, requestId, era }: McpRequest, tool: Tool, fit: FittedResult): McpAnswer => {
  const { outcome, json, cuts, how } = fit;
  const token = app.tokenFor(outcome);
  const { replayOf } = outcome;
  const truncated = cuts.length > 0;
  const meta = {
    requestId,
    consistencyToken: token,
    ...(replayOf !== undefined && { replayed: true, originalRequestId: replayOf }),
    ...(tool.untrusted.length > 0 && { untrusted: tool.untrusted }),
    ...(truncated && { truncated: { cuts, how } }),
    ...(era === 'modern' && { [META.server]: SERVER }),
  };
  const remark = truncated ? `,{"type":"text","text":${JSON.stringify(truncationNote(fit))}}` : '';
  const complete = era === 'modern' ? '"resultType":"complete",' : '';
  const text = `{"type":"text","text":${JSON.stringify(json)}}`;
  return {
    ok: true,
    result: `{"content":[${text}${remark}],"structuredContent":${json},${complete}"_meta":${JSON.stringify(meta)}}`,
    headers: { 'consistency-token': token },
  };
};
