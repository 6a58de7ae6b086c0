import type { Reporter, TestCase, TestModule } from 'vitest/node';

/** Returns the first line of the first error, which identifies a failure in a truncated CI log. */
const firstLineOf = (errors: readonly unknown[] | undefined): string => {
  const [first] = errors ?? [];
  const text =
    first instanceof Object && 'message' in first ? String(first.message) : String(first);
  return text.split('\n', 1)[0] ?? '';
};

/** Lists failed and skipped tests with their reasons; the last line has the totals. */
export default class PlainReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const cases = modules.flatMap((module) => [...module.children.allTests()]);
    const of = (state: ReturnType<TestCase['result']>['state']) =>
      cases.filter((test) => test.result().state === state);
    const unloadable = modules.filter(
      (module) => module.state() === 'failed' && [...module.children.allTests()].length === 0,
    );
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
      ...unloadable.map((module) => `${module.relativeModuleId}: ${firstLineOf(module.errors())}`),
      ...errors.map((error) => `outside any test: ${firstLineOf([error])}`),
    ];
    lines.push(...failed.map((line) => `failed: ${line}`));
    lines.push(`${of('passed').length} passed, ${failed.length} failed, ${skipped.length} skipped`);
    process.stdout.write(`\n${lines.join('\n')}\n`);
  }
}
