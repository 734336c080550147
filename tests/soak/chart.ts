// Draws the curves of a soak as one SVG picture, readable on a light and on a dark background.

import { palette } from '../../packages/server/src/platform/mail/palette.ts';
import { escapeHtml } from '../../packages/server/src/platform/values/html.ts';
import { type Curve, curves, type Sample } from './trends.ts';

const width = 880;
const panelHeight = 190;
const plot = { left: 70, right: 20, top: 46, bottom: 34 } as const;
const head = 62;
const plotWidth = width - plot.left - plot.right;
const plotHeight = panelHeight - plot.top - plot.bottom;
const maxTicks = 4;
const maxMinuteTicks = 10;

interface Panel {
  readonly title: string;
  readonly lines: readonly Curve[];
}

const panels: readonly Panel[] = [
  { title: 'Resident memory (MiB)', lines: [curves.memory] },
  { title: 'Open files', lines: [curves.descriptors] },
  { title: 'Database size (MiB)', lines: [curves.database] },
  { title: 'Latency (ms)', lines: [curves.p999, curves.p99, curves.p50] },
  { title: 'Requests (/s)', lines: [curves.requests] },
  { title: 'CPU (% of a core)', lines: [curves.cpu] },
];

const colors = (names: typeof palette.light | typeof palette.dark, lines: readonly string[]): string =>
  [
    `.background { fill: ${names.background} }`,
    `.grid { stroke: ${names.line} }`,
    `.half { fill: ${names.line}; opacity: 0.4 }`,
    `text { fill: ${names.text} }`,
    `.muted { fill: ${names.muted} }`,
    ...lines.flatMap((color, index) => [
      `.line${index} { stroke: ${color} }`,
      `.label${index} { fill: ${color} }`,
    ]),
  ].join('\n');

const style = `
text { font: 13px system-ui, sans-serif }
.title { font-size: 20px; font-weight: 600 }
.panel { font-weight: 600 }
.muted { font-size: 12px }
path { fill: none; stroke-width: 1.75; stroke-linejoin: round }
${colors(palette.light, ['#3e63dd', '#b3460b', '#107d62'])}
@media (prefers-color-scheme: dark) {
${colors(palette.dark, ['#9eb1ff', '#ffa057', '#3fd6a6'])}
}
`;

/** The smallest of 1, 2 and 5 times a power of ten that needs at most `ticks` steps to `max`. */
function stepFor(max: number, ticks: number): number {
  const power = 10 ** Math.floor(Math.log10(max / ticks));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step * ticks >= max)!;
}

/** The last one may be beyond the maximum by a hundredth of a step: samples are not taken on the second. */
const multiplesUpTo = (max: number, step: number): number[] =>
  Array.from({ length: Math.floor(max / step + 0.01) + 1 }, (_, index) => index * step);

const numberText = (value: number): string => String(Number(value.toPrecision(6)));
const coordinate = (value: number): string => value.toFixed(1);

function drawPanel({ title, lines }: Panel, index: number, samples: readonly Sample[]): string {
  const top = head + index * panelHeight;
  const lastSecond = samples.at(-1)!.atSeconds;
  const highest = Math.max(...lines.flatMap((line) => samples.map(line.of)), 1e-3);
  const step = stepFor(highest, maxTicks);
  const max = Math.ceil(highest / step - 1e-9) * step;
  const x = (seconds: number) => plot.left + (seconds / lastSecond) * plotWidth;
  const y = (value: number) => top + plot.top + plotHeight * (1 - value / max);
  const bottom = y(0);

  const half = `<rect class="half" x="${coordinate(x(lastSecond / 2))}" y="${y(max)}" width="${plotWidth / 2}" height="${plotHeight}"/>`;
  const rows = multiplesUpTo(max, step).map(
    (value) =>
      `<line class="grid" x1="${plot.left}" x2="${width - plot.right}" y1="${coordinate(y(value))}" y2="${coordinate(y(value))}"/>` +
      `<text class="muted" text-anchor="end" x="${plot.left - 8}" y="${coordinate(y(value) + 4)}">${numberText(value)}</text>`,
  );
  const minuteStep = stepFor(lastSecond / 60, maxMinuteTicks);
  const columns = multiplesUpTo(lastSecond / 60, minuteStep).map(
    (minutes) =>
      `<text class="muted" text-anchor="middle" x="${coordinate(x(minutes * 60))}" y="${bottom + 18}">${numberText(minutes)}</text>`,
  );
  const paths = lines.map((line, number) => {
    const points = samples.map(
      (sample) => `${coordinate(x(sample.atSeconds))} ${coordinate(y(line.of(sample)))}`,
    );
    return `<path class="line${number}" d="M${points.join('L')}"/>`;
  });
  const labels = lines.map(
    (line, number) =>
      `<text class="label${number}" text-anchor="end" x="${width - plot.right - number * 110}" y="${top + 32}">${escapeHtml(line.name)}</text>`,
  );
  const heading = `<text class="panel" x="${plot.left}" y="${top + 32}">${escapeHtml(title)}</text>`;
  return [half, ...rows, ...columns, ...paths, heading, ...(lines.length > 1 ? labels : [])].join('\n');
}

/** The picture, with a panel for each quantity. There must be a sample. */
export function drawChart(title: string, samples: readonly Sample[]): string {
  const height = head + panels.length * panelHeight + 16;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
<rect class="background" width="${width}" height="${height}"/>
<text class="title" x="${plot.left}" y="36">${escapeHtml(title)}</text>
<text class="muted" x="${plot.left}" y="58">By minutes since the start. The trend is that of the shaded half.</text>
${panels.map((panel, index) => drawPanel(panel, index, samples)).join('\n')}
</svg>
`;
}
