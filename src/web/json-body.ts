import { isUtf8 } from 'node:buffer';
import type { FastifyRequest } from 'fastify';
import { type ScanFault, scanJson } from '#src/shared/json-scan.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';

/** Parses a JSON body, or refuses it. `readable` is the content of a refused body, where it could be parsed. */
export const parseJson = (
  body: Buffer,
  request: FastifyRequest,
): { value: unknown } | { refusal: Refusal; readable?: unknown } => {
  const charset = /charset="?([^";]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && charset.trim().toLowerCase() !== 'utf-8')
    return { refusal: refuse('unsupported_media_type', 'The charset must be utf-8.') };
  if (!isUtf8(body)) return { refusal: refuse('malformed_json', 'The body is not UTF-8.') };
  const text = body.toString();
  if (text === '') return { refusal: refuse('malformed_json', 'The body is empty.') };
  const fault = scanJson(text);
  if (fault)
    return {
      refusal: refuse('malformed_request', 'The JSON is not accepted.', {
        errors: [fault],
      }),
      readable: readableContent(text, fault),
    };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return { refusal: refuse('malformed_json', 'The body is not JSON.') };
  }
};

/** Parses a refused body, so that JSON-RPC can answer under its id, unless the fault is in the id. */
const readableContent = (text: string, { pointer }: ScanFault): unknown => {
  try {
    return pointer === '/id' ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
};
