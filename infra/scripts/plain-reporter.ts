import type { Reporter, TestCase, TestModule } from 'vitest/node';

/** Names what was skipped and why, and closes with one line that a script can read. */
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
    const failed = of('failed').length + broken.length + errors.length;
    lines.push(`${of('passed').length} passed, ${failed} failed, ${skipped.length} skipped`);
    process.stdout.write(`\n${lines.join('\n')}\n`);
  }
}
