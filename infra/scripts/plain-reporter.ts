import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node';

/** Returns the first line of the first error, which identifies a failure in a truncated CI log. */
const firstLineOf = (errors: readonly unknown[] | undefined): string => {
  const [first] = errors ?? [];
  const text =
    first instanceof Object && 'message' in first ? String(first.message) : String(first);
  return text.split('\n', 1)[0] ?? '';
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
