import type { AgentCaller } from '#src/app/pipeline/call.ts';
import type { AgentApp } from '#src/app/app.ts';
import type { Admission } from '#src/app/pipeline/admission.ts';
import type { Era, McpFault, Params } from './wire.ts';

/** A request of a known caller, as the methods get it. */
export type McpRequest = {
  app: AgentApp;
  admission: Admission<AgentCaller>;
  requestId: string;
  era: Era;
  params: Params;
  /** From the header, or from _meta. */
  consistencyToken: string | undefined;
};

type McpResult = {
  ok: true;
  /** The result as JSON: text, or bytes where it is cached, which saves encoding it again. */
  result: string | Buffer;
  headers?: Record<string, string>;
};

export type McpAnswer = McpResult | McpFault;
