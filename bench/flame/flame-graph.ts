// A CPU profile as a flame graph: what was running is wide, who called it is below, and the colors tell whose code it is.

/** What Bun writes with `--cpu-prof`. */
export interface Profile {
  readonly nodes: readonly ProfileNode[];
  /** The node of each sample, and the microseconds since the sample before it. */
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string };
  readonly children?: readonly number[];
}

export interface Frame {
  readonly name: string;
  readonly place: string;
  /** Samples in this function and what it called. */
  samples: number;
  readonly children: Map<string, Frame>;
}

/** Where code lies, and its color. The first match counts. */
const places: readonly (readonly [name: string, pattern: RegExp, color: string])[] = [
  ['database', /platform\/database\/|node_modules\/(?:postgres|kysely)|bun:sqlite/, '#e8a33d'],
  ['HTTP', /platform\/http\/|node_modules\/hono|values\//, '#6ea8d8'],
  ['validation', /contract\/src\/|node_modules\/zod/, '#8cc5a2'],
  ['logs and metrics', /platform\/telemetry\/|node_modules\/(?:pino|prom-client)/, '#c3a6d8'],
  ['cryptography', /platform\/crypto\/|node_modules\/(?:jose|@simplewebauthn)|node:crypto/, '#d98686'],
  ['the rest of the service', /packages\/server\/src\//, '#e6d27a'],
  ['Bun and other libraries', /./, '#c8c8c8'],
];

const width = 1200;
const rowHeight = 17;
const headHeight = 44;
const minWidth = 1.5;
const characterWidth = 6.6;

const placeOf = (url: string): string => url.replace(/^.*?((?:packages|node_modules|bench)\/)/, '$1');

const newFrame = (name: string, place: string): Frame => ({ name, place, samples: 0, children: new Map() });

/** Folds the samples of the last microseconds into a tree. Those without any code are left out. */
export function foldProfile({ nodes, samples, timeDeltas }: Profile, lastMicros: number): Frame {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(
    nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)),
  );
  const stackOf = (id: number): ProfileNode[] => {
    const parent = parents.get(id);
    return parent === undefined ? [] : [...stackOf(parent), byId.get(id)!];
  };
  const root = newFrame('all', '');
  let left = timeDeltas.reduce((sum, micros) => sum + micros, 0);
  for (const [index, id] of samples.entries()) {
    left -= timeDeltas[index] ?? 0;
    const stack = stackOf(id).filter(({ callFrame }) => !isIdle(callFrame.functionName));
    if (left <= lastMicros && stack.length > 0) addStack(root, stack);
  }
  return root;
}

const isIdle = (name: string): boolean => name === '(idle)' || name === '(program)';

function addStack(root: Frame, stack: readonly ProfileNode[]): void {
  let frame = root;
  frame.samples += 1;
  for (const { callFrame } of stack) {
    const name = callFrame.functionName || 'anonymous';
    const place = placeOf(callFrame.url);
    const key = `${name} ${place}`;
    const child = frame.children.get(key) ?? newFrame(name, place);
    frame.children.set(key, child);
    child.samples += 1;
    frame = child;
  }
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

type Place = (typeof places)[number];

const otherPlace = places.at(-1)!;

/** Whose code a frame is. A function of Bun itself belongs to its caller, whose work it does. */
const ownerOf = ({ place }: Frame, caller: Place): Place =>
  place === '' ? caller : (places.find(([, pattern]) => pattern.test(place)) ?? otherPlace);

/** The depth of the frames that are wide enough to be drawn. */
const depthOf = (frame: Frame, scale: number): number =>
  1 +
  Math.max(
    0,
    ...[...frame.children.values()]
      .filter(({ samples }) => samples * scale >= minWidth)
      .map((child) => depthOf(child, scale)),
  );

/** Draws the tree, callers at the bottom. Each frame has its name, place and share as a tooltip. */
export function drawFlameGraph(root: Frame, title: string): string {
  const scale = width / root.samples;
  const height = headHeight + depthOf(root, scale) * rowHeight + 4;
  const boxes: string[] = [];
  const draw = (frame: Frame, x: number, level: number, caller: Place): void => {
    const boxWidth = frame.samples * scale;
    if (boxWidth < minWidth) return;
    const owner = ownerOf(frame, caller);
    const y = height - (level + 1) * rowHeight - 2;
    const share = `${((frame.samples / root.samples) * 100).toFixed(1)}%`;
    const shown = frame.name.slice(0, Math.max(0, Math.floor((boxWidth - 6) / characterWidth)));
    const label =
      shown.length > 2 ? `<text x="${(x + 3).toFixed(1)}" y="${y + 12}">${escaped(shown)}</text>` : '';
    boxes.push(
      `<g><title>${escaped(`${frame.name} ${frame.place} ${share}`)}</title><rect x="${x.toFixed(1)}" y="${y}" width="${Math.max(0.5, boxWidth - 0.5).toFixed(1)}" height="${rowHeight - 1}" fill="${owner[2]}"/>${label}</g>`,
    );
    let at = x;
    for (const child of [...frame.children.values()].toSorted((a, b) => b.samples - a.samples)) {
      draw(child, at, level + 1, owner);
      at += child.samples * scale;
    }
  };
  draw(root, 0, 0, otherPlace);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="monospace" font-size="11">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    `<text x="4" y="16" font-size="14" font-family="sans-serif">${escaped(title)}</text>`,
    ...legend(),
    ...boxes,
    '</svg>\n',
  ].join('\n');
}

const legend = (): string[] =>
  places.map(
    ([name, , color], index) =>
      `<rect x="${4 + index * 168}" y="25" width="10" height="10" fill="${color}"/><text x="${18 + index * 168}" y="34" font-family="sans-serif">${name}</text>`,
  );

/** The share of the time that was spent in the code of each place itself, largest first. */
export function sharesOf(root: Frame): { readonly place: string; readonly share: number }[] {
  const own = new Map<string, number>();
  const visit = (frame: Frame, caller: Place): void => {
    const owner = ownerOf(frame, caller);
    const below = [...frame.children.values()].reduce((sum, { samples }) => sum + samples, 0);
    own.set(owner[0], (own.get(owner[0]) ?? 0) + frame.samples - below);
    for (const child of frame.children.values()) visit(child, owner);
  };
  visit(root, otherPlace);
  return [...own]
    .map(([place, samples]) => ({ place, share: samples / root.samples }))
    .toSorted((a, b) => b.share - a.share);
}
