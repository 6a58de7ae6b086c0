import type { AgentCaller } from '#src/app/pipeline/call.ts';
import type { AgentApp } from '#src/app/app.ts';
import type { Admission } from '#src/app/pipeline/admission.ts';
import type { Era, Fault, Params } from './wire.ts';

/** One request of a known caller, on its way to the method that answers it. */
export type Asked = {
  app: AgentApp;
  admission: Admission<AgentCaller>;
  requestId: string;
  era: Era;
  params: Params;
  /** From the header, or from _meta. */
  consistencyToken: string | undefined;
};

export type Answered = {
  ok: true;
  /** The result, as JSON text; as bytes where it is kept, because text costs as much to encode. */
  result: string | Buffer;
  headers?: Record<string, string>;
};

export type Answer = Answered | Fault;
