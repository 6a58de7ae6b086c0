import { BOUNDARIES } from '#contracts/boundaries.ts';
import { operations } from '#contracts/index.ts';
import { AGENT_BASE } from '../rest/routes.ts';

/** llms.txt: which operation for which use case, what no agent can do, where everything is. */
export const llmsText = (origin: string): string => {
  const lines = [
    '# Tributary',
    '',
    '> Attributed promotion of ready-stock wholesale products for software agents that act for a ' +
      'promoter. Agents propose; buyers and staff decide.',
    '',
    'Send `Authorization: Bearer <API_KEY>`; keep the key in a server-side secret named SERVICE_API_KEY, ' +
      'never in a browser or a URL. Every write needs `Idempotency-Key`: one per intent, the same on ' +
      'every retry. Errors are RFC 9457 problems; `recovery` says what to do next.',
    '',
    '## Use cases',
    '',
    ...Object.values(operations).map(
      ({ id, summary, scope, http }) =>
        `- ${summary}: \`${id}\`, ${http.method} ${AGENT_BASE}${http.path}${scope ? ` (${scope})` : ''}`,
    ),
    '',
    '## Boundaries',
    '',
    ...BOUNDARIES.map(({ statement, instead }) => `- ${statement} ${instead}`),
    '',
    '## Reference',
    '',
    `- [OpenAPI 3.1](${origin}/api/affiliate/openapi.json): the seven operations`,
    `- [Problems](${origin}/problems): every error code with its way forward`,
    `- [llms.txt](${origin}/llms.txt): this page`,
    '',
  ];
  return lines.join('\n');
};
