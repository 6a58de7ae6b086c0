import { html } from 'hono/html';
import { PROBLEM_CODES, type ProblemCode, PROBLEMS } from '#contracts/problems.ts';
import { problemBody } from '#src/web/problem.ts';
import { facts, type Page } from '#src/web/layout.ts';

/** An unused request id, for the example. */
const EXAMPLE_ID = '019a0000-0000-7000-8000-000000000000';

export const isProblemCode = (code: string): code is ProblemCode => Object.hasOwn(PROBLEMS, code);

export const problemsPage = (): Page => ({
  title: 'Problems',
  main: html`<header class="head"><h1>Problems</h1>
<p class="lede">Every problem that a call can answer. A code is never renamed and never
reused.</p></header>
<table class="problems"><thead><tr><th scope="col">Code</th><th scope="col">Status</th>
<th scope="col">Meaning</th></tr></thead><tbody>${PROBLEM_CODES.map(
    (code) => html`<tr><th scope="row"><a href="/problems/${code}"><code>${code}</code></a></th>
<td>${PROBLEMS[code].status}</td><td>${PROBLEMS[code].title}</td></tr>`,
  )}</tbody></table>`,
});

const retryText = (code: ProblemCode): string =>
  PROBLEMS[code].retryable
    ? 'Yes, unchanged and with the same idempotency key'
    : 'No: change the call or its preconditions first';

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
  ['Send it again?', retryText(code)],
])}</header>
<section aria-labelledby="example"><h2 id="example">Example</h2>
<pre tabindex="0"><code>${exampleOf(code, origin)}</code></pre></section>
<p><a href="/problems">All problems</a> ·
<a href="/problems/${code}.md">This page as Markdown</a></p>
</article>`,
  };
};

/** Returns the page as Markdown, for programs. */
export const problemMarkdown = (code: ProblemCode, origin: string): string => {
  const { status, title, hint, action } = PROBLEMS[code];
  return `# ${title}

\`${code}\`, status ${status}.

${hint}

- Recovery: \`${action}\`
- Send it again? ${retryText(code)}.

\`\`\`json
${exampleOf(code, origin)}
\`\`\`

All problems: ${origin}/problems
`;
};
