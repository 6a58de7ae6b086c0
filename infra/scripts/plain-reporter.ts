import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node';

/** Returns the first line of the first error and of its causes, which identify a failure in a truncated CI log. */
const firstLineOf = (errors: readonly unknown[] | undefined): string =>
  linesOf(errors?.[0]).join(': ');

const LINE_CHARS_MAX = 1_000;

const linesOf = (error: unknown): string[] => {
  const isError = error instanceof Object && 'message' in error;
  const text = isError ? String(error.message) : String(error);
  const line = (text.split('\n', 1)[0] ?? '').slice(0, LINE_CHARS_MAX);
  const cause = isError && 'cause' in error ? error.cause : undefined;
  return cause === undefined ? [line] : [line, ...linesOf(cause)];
};

const placeOf = (suite: TestModule | TestSuite): string =>
  suite.type === 'module'
    ? suite.relativeModuleId
    : `${suite.module.relativeModuleId} > ${suite.fullName}`;

/** Lists failed and skipped tests with their reasons; the last line has the totals. */
export default class PlainReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const cases = modules.flatMap((module) => [...module.children.allTests()]);
    const of = (state: ReturnType<TestCase['result']>['state']) =>
      cases.filter((test) => test.result().state === state);
    // Errors of a file while it loads, and of hooks, belong to no test.
    const suites = modules.flatMap((module) => [module, ...module.children.allSuites()]);
    const broken = suites.filter((suite) => suite.errors().length > 0);
    const skipped = of('skipped');
    const lines = skipped.map((test) => {
      const result = test.result();
      const reason = result.state === 'skipped' && result.note ? ` (${result.note})` : '';
      return `skipped: ${test.fullName}${reason}`;
    });
    const failed = [
      ...of('failed').map((test) => {
        const where = `${test.module.relativeModuleId} > ${test.fullName}`;
        return `${where}: ${firstLineOf(test.result().errors)}`;
      }),
      ...broken.map((suite) => `${placeOf(suite)}: ${firstLineOf(suite.errors())}`),
    ];
    lines.push(...failed.map((line) => `failed: ${line}`));
    lines.push(...errors.map((error) => `unhandled: ${firstLineOf([error])}`));
    const counts = [
      `${of('passed').length} passed`,
      `${failed.length} failed`,
      `${skipped.length} skipped`,
      ...(errors.length > 0 ? [`${errors.length} unhandled`] : []),
    ];
    lines.push(counts.join(', '));
    process.stdout.write(`\n${lines.join('\n')}\n`);
  }
}
