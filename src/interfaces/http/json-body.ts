import type { FastifyRequest } from 'fastify';
import { type ScanFault, scanJson } from '#src/app/shared/json-scan.ts';
import { type Refusal, refuse } from '#src/app/pipeline/outcome.ts';

/** A body as JSON, or why it is not taken; with what it says all the same, where that can be read. */
export const parseJson = (
  body: Buffer,
  request: FastifyRequest,
): { value: unknown } | { refusal: Refusal; said?: unknown } => {
  const charset = /charset="?([^";]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && charset.trim().toLowerCase() !== 'utf-8')
    return { refusal: refuse('unsupported_media_type', 'The charset must be utf-8.') };
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return { refusal: refuse('malformed_json', 'The body is not UTF-8.') };
  }
  if (text === '') return { refusal: refuse('malformed_json', 'The body is empty.') };
  const fault = scanJson(text);
  if (fault)
    return {
      refusal: refuse('malformed_request', 'The JSON cannot be taken as it is.', {
        errors: [fault],
      }),
      said: saidIn(text, fault),
    };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return { refusal: refuse('malformed_json', 'The body is not JSON.') };
  }
};

/** JSON-RPC answers under the id of what it refuses, unless that is what cannot be taken. */
const saidIn = (text: string, { pointer }: ScanFault): unknown => {
  try {
    return pointer === '/id' ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
};
