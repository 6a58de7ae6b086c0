import { type BoundaryId, boundaryOf } from '#contracts/boundaries.ts';
import type { InputFault } from '#contracts/problems.ts';
import { agentBudget } from '#src/calls/agent-rules.ts';
import { forbidden, type Refusal, refuse } from '#src/shared/outcome.ts';
import type { Budget } from '#src/shared/call.ts';
import { fitResult, type FittedResult, truncationNote } from './fit-result.ts';
import { type Tool, toolNamed } from './tools.ts';
import {
  mcpFaultOf,
  invalidParams,
  isForModel,
  isRecord,
  META,
  resultOf,
  SERVER,
  type McpAnswer,
  type McpRequest,
} from './wire.ts';
import { problemOf } from './wording.ts';

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
  const { name, arguments: given = {} } = request.params;
  if (typeof name !== 'string') return invalidParams('/params/name', 'required', 'names the tool');
  const tool = toolNamed(name);
  if (!tool) return unknownTool(request, boundaryOf(name));
  if (!isRecord(given))
    return invalidParams('/params/arguments', 'invalid_type', 'must be an object');
  const { app, admission, requestId, consistencyToken } = request;
  const options = { consistencyToken };
  const input = withoutNull(given) as Record<string, unknown>;
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

/** Removes null members: strict clients send null for what is absent. Lists keep it, as an invalid item. */
const withoutNull = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNull);
  if (!isRecord(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNull(member)]));
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

/** Answers a body that is refused for its arguments with a tool result; undefined when the faults are elsewhere. */
export const refusedArguments = (context: ResultContext, refusal: Refusal): string | undefined => {
  const { errors = [] } = refusal;
  const isOfThem = ({ pointer }: InputFault): boolean => pointer.startsWith(`${ARGUMENTS}/`);
  if (errors.length === 0 || !errors.every(isOfThem)) return undefined;
  const own = errors.map((fault) => ({ ...fault, pointer: fault.pointer.slice(ARGUMENTS.length) }));
  return refusedResult(context, { ...refusal, errors: own });
};

type ResultContext = Pick<McpRequest, 'app' | 'requestId' | 'era'>;

/** A problem as text only: clients validate structuredContent even of errors. */
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
