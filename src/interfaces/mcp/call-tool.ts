import type { BoundaryId } from '#contracts/boundaries.ts';
import { boundaryOf } from '#contracts/boundaries.ts';
import type { InputFault } from '#contracts/problems.ts';
import { consistencyToken } from '#src/app/pipeline/consistency.ts';
import type { Incoming } from '#src/app/pipeline/agent-dispatch.ts';
import { answerTo, dispatch, note } from '#src/app/pipeline/agent-dispatch.ts';
import type { Refusal } from '#src/app/pipeline/outcome.ts';
import { forbidden, refuse } from '#src/app/pipeline/outcome.ts';
import type { Policy } from '../http/gate.ts';
import { policyOf } from '../http/gate.ts';
import type { Answer, Asked } from './asked.ts';
import type { Fitted } from './fit.ts';
import { fitted, truncationNote } from './fit.ts';
import type { Tool } from './tools.ts';
import { toolNamed } from './tools.ts';
import { faultOf, invalidParams, isForModel, isRecord, META, resultOf, SERVER } from './wire.ts';
import { problemOf } from './wording.ts';

/** What a call is recorded as and counted against, before anything of it is done. */
export const toolAsked = ({ name }: Record<string, unknown>): About => {
  const tool = typeof name === 'string' ? toolNamed(name) : undefined;
  return tool
    ? { operation: tool.id, policy: policyOf(tool.operation) }
    : { operation: 'mcp:tools/call', policy: 'read' };
};

type About = { operation: string; policy: Policy };

/** tools/call: the same road as REST, under the name of the tool. */
export const callTool = async (asked: Asked): Promise<Answer> => {
  const { name, arguments: input = {} } = asked.params;
  if (typeof name !== 'string') return invalidParams('/params/name', 'required', 'names the tool');
  const tool = toolNamed(name);
  if (!tool) return unknownTool(asked, boundaryOf(name));
  if (!isRecord(input))
    return invalidParams('/params/arguments', 'invalid_type', 'must be an object');
  const incoming = incomingOf(asked, input);
  const outcome = await dispatch(asked.deps, tool.id, incoming);
  if (!outcome.ok) return refused(asked, outcome);
  const fit = await fitted(outcome, (limit) =>
    answerTo(asked.deps, tool.id, { ...incoming, input: { ...input, limit } }),
  );
  return fit.ok ? { ...success(asked, tool, fit), onRecord: true } : refused(asked, fit);
};

const refused = (asked: Asked, refusal: Refusal): Answer =>
  isForModel(refusal)
    ? { ok: true, result: refusedResult(asked, refusal), onRecord: true }
    : { ...faultOf(refusal), onRecord: true };

const incomingOf = (
  { caller, requestId, consistencyToken: token }: Asked,
  input: Record<string, unknown>,
): Incoming => ({ caller, surface: 'mcp', requestId, input, consistencyToken: token });

/** One of the five acts is answered to the model, which is then told who can do it. */
const unknownTool = (asked: Asked, boundary: BoundaryId | undefined): Answer => {
  if (boundary === undefined)
    return faultOf(refuse('route_not_found', 'There is no such tool; tools/list shows yours.'), {
      code: -32602,
      status: 200,
    });
  const { deps, caller, requestId } = asked;
  const refusal = forbidden(boundary);
  note(deps, `boundary:${boundary}`, { caller, surface: 'mcp', requestId }, refusal);
  return { ok: true, result: refusedResult(asked, refusal), onRecord: true };
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

type Told = Pick<Asked, 'deps' | 'requestId' | 'era'>;

/** A problem for the model: as text alone, because clients check structuredContent even on errors. */
const refusedResult = ({ deps, requestId, era }: Told, refusal: Refusal): string => {
  const text = JSON.stringify(problemOf(refusal, { origin: deps.origin(), requestId }));
  const members = { content: [{ type: 'text', text }], isError: true };
  return JSON.stringify(resultOf(era, members, { meta: { requestId } }));
};

/** Around a record that is JSON text already: written twice, made once. */
const success = ({ deps, requestId, era }: Asked, tool: Tool, fit: Fitted): Answer => {
  const { outcome, json, cuts, how } = fit;
  const at = outcome.position ?? deps.following.asOf().position;
  const token = consistencyToken(deps.log.id, at);
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
