/** What strangers read of the notary: checkpoint, keys and tiles, and the page that verifies a file in the browser. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { html } from 'hono/html';
import { refuse } from '#src/shared/outcome.ts';
import { sendRefusal } from '#src/web/error-pages.ts';
import { ASSETS, type Page, sendPublicPage } from '#src/web/layout.ts';
import { COMPRESSED, sendTagged } from '#src/web/documents.ts';
import { checkpointOf, type ProofDeps } from './notary.ts';

const PLAIN = 'text/plain; charset=utf-8';
const TILE_HASHES = 256;
/** A full tile never changes. */
const FOR_GOOD = 'public, max-age=31536000, immutable';

const verifyPage: Page = {
  title: 'Verify a history',
  script: 'verify.js',
  main: html`<article class="review"><header class="head"><h1>Verify a history</h1>
<p class="lede">Checks a file of <code>audit export</code>: that no record was altered, none is missing, and who signed it. The file
stays on this device. <a href="/docs/proof">How it works</a>.</p></header>
<noscript><p class="notice warn">This page needs JavaScript, because nothing is sent to the service. Without it, use
<code>tributary audit verify FILE</code>, or <a href="/proof/verifier.js">the verifier</a> with Node.</p></noscript>
<form class="card" id="verify" hidden>
<div class="field"><label for="file">File</label><input type="file" id="file" name="file" required></div>
<div class="field"><label for="key">Keys that you trust <span class="optional">(optional)</span></label>
<input type="text" id="key" name="key" autocomplete="off" spellcheck="false" aria-describedby="key-hint">
<p class="hint" id="key-hint">Of the service, as it publishes it at /proof/key, and of witnesses. Get them from somebody else than who gave you the file.</p></div>
<button type="submit">Verify</button>
</form><div id="verdict" role="status"></div></article>`,
};

/** Serves the page, the verifier, and the tree in the form of C2SP tlog-tiles. Entries are not public. */
export const proofRoutes = (scope: FastifyInstance, { proof }: { proof(): ProofDeps }): void => {
  const sendNone = (reply: FastifyReply, detail: string): Promise<FastifyReply> =>
    sendRefusal(reply, refuse('resource_not_found', detail));
  scope.get('/verify', COMPRESSED, (_request, reply) => sendPublicPage(reply, verifyPage));
  scope.get('/proof/verifier.js', COMPRESSED, (_request, reply) =>
    sendTagged(reply, ASSETS['verifier.js'], 'public, max-age=60'),
  );
  scope.get('/proof/key', (_request, reply) => {
    const keys = proof().signers.map(({ text }) => `${text}\n`);
    return reply.type(PLAIN).header('cache-control', 'public, max-age=60').send(keys.join(''));
  });
  scope.get('/proof/checkpoint', async (_request, reply) => {
    const deps = proof();
    await deps.tree.advance();
    const { newest } = deps.tree;
    if (!newest) return sendNone(reply, 'The log has no checkpoint yet.');
    return reply.type(PLAIN).header('cache-control', 'no-cache').send(checkpointOf(deps, newest));
  });
  scope.get<{ Params: { '*': string } }>('/proof/tile/*', async (request, reply) => {
    const [, level, number = '', width] =
      /^([0-9]|[1-5][0-9])\/((?:x\d{3}\/)*\d{3})(?:\.p\/([1-9]\d{0,2}))?$/.exec(
        request.params['*'],
      ) ?? [];
    const wanted = width === undefined ? TILE_HASHES : Number(width);
    const place = Number(number.replaceAll(/[x/]/g, ''));
    const tile =
      level === undefined || wanted > TILE_HASHES
        ? undefined
        : proof().tree.tile(Number(level), place, wanted);
    if (!tile) return sendNone(reply, 'The tree has no such tile.');
    return reply.type('application/octet-stream').header('cache-control', FOR_GOOD).send(tile);
  });
};
