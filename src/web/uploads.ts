/** Forms with a file: read within a limit, only for people who are signed in, without a library. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { refuse, Refused } from '#src/shared/outcome.ts';
import { awaitSlowBody, SAFE_METHODS } from './http.ts';

const MULTIPART = 'multipart/form-data';

/** More than this is not even read to its end, so that the connection is cut. */
const DRAINED_BYTES_MAX = 128 * 1_048_576;

const TOO_LARGE = refuse('payload_too_large', 'The form is larger than this page accepts.');
const UNREADABLE = refuse('malformed_request', 'The form cannot be read. Send it again.');

/**
 * Reads a body of at most `max` bytes. A longer one is read to its end without being kept: a browser shows an answer only
 * once it has sent everything.
 */
const readBody = async (
  request: FastifyRequest,
  payload: AsyncIterable<Buffer>,
  max: number,
): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const wait = awaitSlowBody(request);
  try {
    for await (const chunk of payload) {
      wait.progressed();
      bytes += chunk.length;
      if (bytes > DRAINED_BYTES_MAX) break;
      if (bytes <= max) chunks.push(chunk);
      else chunks.length = 0;
    }
  } finally {
    wait.ended();
  }
  if (bytes > max) throw new Refused(TOO_LARGE);
  return Buffer.concat(chunks);
};

const files = new WeakMap<FastifyRequest, Map<string, Buffer>>();

/** The file of a field; undefined if none was chosen. */
export const uploadedFile = (request: FastifyRequest, field: string): Buffer | undefined =>
  files.get(request)?.get(field);

/** Answers a request from which no file is accepted; otherwise it resolves to undefined. */
type Admit = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | undefined>;

/**
 * Accepts forms with files, of at most `max` bytes together, from those whom `admit` lets in: it is asked before the body is
 * read. The texts are the body, as those of other forms.
 */
export const acceptUploads = (
  scope: FastifyInstance,
  { max, admit }: { max: number; admit: Admit },
): void => {
  scope.addHook('onRequest', async (request, reply) =>
    SAFE_METHODS.has(request.method) ? undefined : admit(request, reply),
  );
  scope.addContentTypeParser(
    MULTIPART,
    async (request: FastifyRequest, payload: AsyncIterable<Buffer>) => {
      const body = await readBody(request, payload, max);
      const headers = { 'content-type': request.headers['content-type'] ?? '' };
      const form = await new Response(new Uint8Array(body), { headers }).formData().catch(() => {
        throw new Refused(UNREADABLE);
      });
      const texts: Record<string, string> = {};
      const own = new Map<string, Buffer>();
      for (const [name, value] of form)
        if (typeof value === 'string') texts[name] = value;
        else if (value.size > 0) own.set(name, Buffer.from(await value.arrayBuffer()));
      files.set(request, own);
      return texts;
    },
  );
};
