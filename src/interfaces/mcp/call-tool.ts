import { type BoundaryId, boundaryOf } from '#contracts/boundaries.ts';
import type { InputFault } from '#contracts/problems.ts';
import type { Budget } from '#src/app/pipeline/admission.ts';
import { agentBudget } from '#src/app/pipeline/agent-rules.ts';
import { forbidden, type Refusal, refuse } from '#src/app/pipeline/outcome.ts';
import type { Answer, Asked } from './asked.ts';
import { fitted, type Fitted, truncationNote } from './fit.ts';
import { type Tool, toolNamed } from './tools.ts';
import { faultOf, invalidParams, isForModel, isRecord, META, resultOf, SERVER } from './wire.ts';
import { problemOf } from './wording.ts';

/** What a call is recorded as and counted against, before anything of it is done. */
export const toolAsked = ({ name }: Record<string, unknown>): About => {
  const tool = typeof name === 'string' ? toolNamed(name) : undefined;
  return tool
    ? { operation: tool.id, budget: agentBudget(tool.operation) }
    : { operation: 'mcp:tools/call', budget: 'read' };
};

type About = { operation: string; budget: Budget };

/** tools/call: performs the operation that has the tool's name, as REST does. */
export const callTool = async (asked: Asked): Promise<Answer> => {
  const { name, arguments: input = {} } = asked.params;
  if (typeof name !== 'string') return invalidParams('/params/name', 'required', 'names the tool');
  const tool = toolNamed(name);
  if (!tool) return unknownTool(asked, boundaryOf(name));
  if (!isRecord(input))
    return invalidParams('/params/arguments', 'invalid_type', 'must be an object');
  const { app, admission, requestId, consistencyToken } = asked;
  const options = { consistencyToken };
  const outcome = await app.agents.perform(admission, tool.id, input, options);
  if (!outcome.ok) return refused(asked, outcome);
  const { caller } = admission;
  const fit = await fitted(outcome, (limit) =>
    app.agents.performInside(tool.id, {
      caller,
      surface: 'mcp',
      requestId,
      input: { ...input, limit },
      ...options,
    }),
  );
  return fit.ok ? success(asked, tool, fit) : refused(asked, fit);
};

const refused = (asked: Asked, refusal: Refusal): Answer =>
  isForModel(refusal) ? { ok: true, result: refusedResult(asked, refusal) } : faultOf(refusal);

/** One of the five acts is answered to the model, which is then told who can do it. */
const unknownTool = (asked: Asked, boundary: BoundaryId | undefined): Answer => {
  if (boundary === undefined)
    return faultOf(refuse('route_not_found', 'There is no such tool; tools/list shows yours.'), {
      code: -32602,
      status: 200,
    });
  const refusal = forbidden(boundary);
  asked.app.agents.conclude(asked.admission, `boundary:${boundary}`, refusal);
  return { ok: true, result: refusedResult(asked, refusal) };
};

const ARGUMENTS = '/params/arguments';

/** A body that is refused for what stands in the arguments, as the tool's result: by its place in them. */
export const refusedArguments = (told: Told, refusal: Refusal): string | undefined => {
  const { errors = [] } = refusal;
  const isOfThem = ({ pointer }: InputFault): boolean => pointer.startsWith(`${ARGUMENTS}/`);
  if (errors.length === 0 || !errors.every(isOfThem)) return undefined;
  const own = errors.map((fault) => ({ ...fault, pointer: fault.pointer.slice(ARGUMENTS.length) }));
  return refusedResult(told, { ...refusal, errors: own });
};

type Told = Pick<Asked, 'app' | 'requestId' | 'era'>;

/** A problem for the model: as text alone, because clients check structuredContent even on errors. */
const refusedResult = ({ app, requestId, era }: Told, refusal: Refusal): string => {
  const text = JSON.stringify(problemOf(refusal, { origin: app.origin(), requestId }));
  const members = { content: [{ type: 'text', text }], isError: true };
  return JSON.stringify(resultOf(era, members, { meta: { requestId } }));
};

/** Around a record that is JSON text already: written twice, made once. */
const success = ({ app, requestId, era }: Asked, tool: Tool, fit: Fitted): Answer => {
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
