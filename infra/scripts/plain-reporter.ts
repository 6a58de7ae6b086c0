import type { Reporter, TestCase, TestModule } from 'vitest/node';

/** The first line of what went wrong: enough to know a failure again where only the end is kept. */
const whyOf = (errors: readonly unknown[] | undefined): string => {
  const [first] = errors ?? [];
  const text =
    first instanceof Object && 'message' in first ? String(first.message) : String(first);
  return text.split('\n', 1)[0] ?? '';
};

/** Names what failed or was skipped and why, and closes with one line that a script can read. */
export default class PlainReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const cases = modules.flatMap((module) => [...module.children.allTests()]);
    const of = (state: ReturnType<TestCase['result']>['state']) =>
      cases.filter((test) => test.result().state === state);
    const broken = modules.filter(
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
        return `${where}: ${whyOf(test.result().errors)}`;
      }),
      ...broken.map((module) => `${module.relativeModuleId}: ${whyOf(module.errors())}`),
      ...errors.map((error) => `outside of any test: ${whyOf([error])}`),
    ];
    lines.push(...failed.map((line) => `failed: ${line}`));
    lines.push(`${of('passed').length} passed, ${failed.length} failed, ${skipped.length} skipped`);
    process.stdout.write(`\n${lines.join('\n')}\n`);
  }
}
