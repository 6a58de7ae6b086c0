/** The audits of an exported file, as the desk answers them. */
import { type DeskOperations, deskOperations } from '#contracts/registries/desk.ts';
import type { DeskCall, DeskCaller } from '#src/shared/call.ts';
import { requireDeclared, requireOutput } from '#src/calls/pipeline.ts';
import { mappingFailures } from '#src/calls/failure.ts';
import type { Outcome } from '#src/shared/outcome.ts';
import { parseInput } from '#src/calls/input.ts';
import { auditDiff } from './audit-diff.ts';
import { auditHistory } from './audit-history.ts';
import { auditProgress } from './audit-progress.ts';
import { auditPerformance, auditState, type OwnerAuditDeps } from './audit-state.ts';

const HANDLERS = { auditState, auditPerformance, auditDiff, auditProgress, auditHistory };

export type FileAuditId = keyof typeof HANDLERS;
export const isFileAudit = (id: keyof DeskOperations): id is FileAuditId => id in HANDLERS;

/** A person who has the file reads all of it. */
const READER: DeskCaller = {
  kind: 'desk',
  id: 'file',
  name: 'reader of the file',
  personId: 'system:file-reader',
  roles: new Set(['auditor'] as const),
};

type AnyHandler = (deps: OwnerAuditDeps, input: object, call: DeskCall) => Promise<Outcome<object>>;

/** Answers one audit from a file, without limits and without an audit record. */
export const askFile = async (
  deps: OwnerAuditDeps,
  id: FileAuditId,
  { input, requestId }: { input: Record<string, unknown>; requestId: string },
): Promise<Outcome<object>> => {
  const operation = deskOperations[id];
  const parsed = parseInput(operation, input);
  if ('refusal' in parsed) return parsed.refusal;
  const call: DeskCall = {
    caller: READER,
    ownerId: '',
    actor: 'desk:file',
    surface: 'cli',
    operation: id,
    requestId,
    at: deps.clock.now(),
  };
  // TypeScript cannot follow a key to its handler.
  const handler = HANDLERS[id] as unknown as AnyHandler;
  const outcome = await mappingFailures(() => handler(deps, parsed.input, call));
  if (!outcome.ok) return requireDeclared(operation, outcome);
  requireOutput(operation, outcome.value);
  return outcome;
};
