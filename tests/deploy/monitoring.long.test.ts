// The alert rules and the dashboard name only metrics, labels and values that the service has, and the alerts fire.

import { beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { startService } from '#support/service.ts';

const root = join(import.meta.dir, '../..');
const read = (path: string): Promise<string> => Bun.file(join(root, path)).text();

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: Readonly<Record<'summary' | 'action' | 'documentation', string>>;
}

const { groups } = Bun.YAML.parse(await read('deploy/alerts.yaml')) as { groups: [{ rules: Alert[] }] };
const alerts = groups[0].rules;
const dashboard: { panels: { title: string; targets: { expr: string }[] }[] } = JSON.parse(
  await read('deploy/grafana-dashboard.json'),
);

/** What Prometheus adds to every metric. */
const isOfTheScrape = (label: string): boolean => label === 'job' || label === 'instance';

let metrics: string;

beforeAll(async () => {
  metrics = await (await fetch(`${(await startService()).url}/metrics`)).text();
});

/** The lines of a metric whose label, if one is named, has a value like this. */
const linesOf = (name: string, label = '', value = ''): string[] =>
  metrics.match(new RegExp(`^${name}(?:\\{|(?= )).*${label && `\\b${label}="(?:${value})"`}.*$`, 'gm')) ?? [];

/** What an expression names that no metric has. */
function unknownIn(expression: string): string[] {
  const names = [...new Set(expression.match(/\b(?:latchkey|nodejs|process)_\w+/g))];
  const unknown = names.filter((name) => linesOf(name).length === 0);
  for (const [, name = '', matchers = ''] of expression.matchAll(/(\w+)\{(.*?)\}(?=[\s)[]|$)/g))
    for (const [matcher, label = '', operator = '', value = ''] of matchers.matchAll(
      /(\w+)(=~|!~|!=|=)"([^"]*)"/g,
    )) {
      const pattern = operator.includes('~') ? value : RegExp.escape(value);
      if (!isOfTheScrape(label) && linesOf(name, label, pattern).length === 0) unknown.push(name + matcher);
    }
  for (const [, list = ''] of expression.matchAll(/\bby \(([^)]*)\)/g))
    for (const label of list.split(', '))
      if (!isOfTheScrape(label) && !names.some((name) => linesOf(name, label, '.*').length > 0))
        unknown.push(label);
  return unknown;
}

test.each(alerts.map((alert) => [alert.alert, alert] as const))('%s names only what there is', (_, alert) => {
  expect(alert.expr).toMatch(/job="latchkey"/);
  expect(unknownIn(alert.expr)).toEqual([]);
});

test('the dashboard names only what there is', () => {
  expect(dashboard.panels.length).toBeGreaterThan(10);
  for (const { title, targets } of dashboard.panels)
    for (const { expr } of targets) expect([title, unknownIn(expr)]).toEqual([title, []]);
});

test('every alert says what to do, and has a section that says more, a line in the documentation and a case in which it fires', async () => {
  const cases = await read('tests/deploy/alerts.yaml');
  const deploying = await read('docs/deploying.md');
  for (const { alert, annotations, labels } of alerts) {
    const [page = '', anchor] = annotations.documentation.split('#');
    const headings = [...(await read(page)).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
    const anchors = headings.map((heading) => heading.toLowerCase().replaceAll(' ', '-'));
    expect([alert, anchor, anchor === undefined || anchors.includes(anchor)]).toEqual([alert, anchor, true]);
    expect([alert, annotations.action]).toEqual([alert, expect.stringMatching(/\.$/)]);
    expect(['warning', 'critical']).toContain(labels.severity);
    expect(cases).toContain(`alertname="${alert}"`);
    expect(deploying).toContain(`\`${alert}\``);
  }
});

const promtool = Bun.which('promtool');

test.skipIf(!promtool)('Prometheus accepts the rules, and each fires when it should and only then', () => {
  const run = (...args: string[]) => {
    const { exitCode, stdout, stderr } = Bun.spawnSync([promtool ?? '', ...args], { cwd: root });
    return [exitCode, exitCode === 0 ? '' : `${stdout}${stderr}`];
  };
  expect(run('check', 'rules', '--lint-fatal', 'deploy/alerts.yaml')).toEqual([0, '']);
  expect(run('test', 'rules', 'tests/deploy/alerts.yaml')).toEqual([0, '']);
});
