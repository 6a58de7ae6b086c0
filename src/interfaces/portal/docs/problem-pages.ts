import { html } from 'hono/html';
import { PROBLEM_CODES, type ProblemCode, PROBLEMS } from '#contracts/problems.ts';
import { problemBody } from '#src/interfaces/http/problem.ts';
import type { Page } from '../layout/layout.ts';
import { facts } from '../layout/parts.ts';

/** A request id that nobody has, for the example. */
const EXAMPLE_ID = '019a0000-0000-7000-8000-000000000000';

export const isProblemCode = (code: string): code is ProblemCode => Object.hasOwn(PROBLEMS, code);

export const problemsPage = (): Page => ({
  title: 'Problems',
  main: html`<header class="head"><h1>Problems</h1>
<p class="lede">Every way in which a call can fail. A code is never renamed and never
reused.</p></header>
<table class="problems"><thead><tr><th scope="col">Code</th><th scope="col">Status</th>
<th scope="col">What it means</th></tr></thead><tbody>${PROBLEM_CODES.map(
    (code) => html`<tr><th scope="row"><a href="/problems/${code}"><code>${code}</code></a></th>
<td>${PROBLEMS[code].status}</td><td>${PROBLEMS[code].title}</td></tr>`,
  )}</tbody></table>`,
});

const again = (code: ProblemCode): string =>
  PROBLEMS[code].retryable
    ? 'Yes, unchanged and with the same idempotency key'
    : 'No, not unchanged: something must be different first';

const exampleOf = (code: ProblemCode, origin: string): string =>
  JSON.stringify(
    problemBody(
      { code, detail: 'What was wrong with this call.' },
      { origin, requestId: EXAMPLE_ID },
    ),
    null,
    2,
  );

export const problemPage = (code: ProblemCode, origin: string): Page => {
  const { status, title, hint, action } = PROBLEMS[code];
  return {
    title,
    main: html`<article><header class="head"><p class="eyebrow"><code>${code}</code></p>
<h1>${title}</h1><p class="lede">${hint}</p>
${facts([
  ['Status', String(status)],
  ['Recovery', html`<code>${action}</code>`],
  ['Send it again?', again(code)],
])}</header>
<section aria-labelledby="example"><h2 id="example">As it arrives</h2>
<pre tabindex="0"><code>${exampleOf(code, origin)}</code></pre></section>
<p><a href="/problems">All problems</a> ·
<a href="/problems/${code}.md">This page as Markdown</a></p>
</article>`,
  };
};

/** The same page for a reader who is a program. */
export const problemMarkdown = (code: ProblemCode, origin: string): string => {
  const { status, title, hint, action } = PROBLEMS[code];
  return `# ${title}

\`${code}\`, status ${status}.

${hint}

- Recovery: \`${action}\`
- Send it again? ${again(code)}.

\`\`\`json
${exampleOf(code, origin)}
\`\`\`

All problems: ${origin}/problems
`;
};
