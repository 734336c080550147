// Reports figures, and whether the promise is kept.

/** If other processes take a larger share of the cores, a measurement proves nothing. */
export const maxOthersShare = 0.1;

/** A measurement without a promise. */
export interface Measurement {
  readonly what: string;
  /** Observations that explain the value, one per line. */
  readonly details: readonly string[];
}

/** A measurement with a promise. */
export interface Finding extends Measurement {
  readonly value: number;
  readonly unit?: 'MB' | 'ms' | '%';
  readonly promise: { readonly atLeast: number } | { readonly atMost: number };
  /** The share of both cores that other processes took during the measurement. Not set where it does not matter. */
  readonly othersShare?: number;
}

/** What `npm run bench -- <name>` measures. */
export interface Figure {
  readonly name: string;
  run(): Promise<(Finding | Measurement)[]>;
}

export const isFinding = (measured: Finding | Measurement): measured is Finding => 'promise' in measured;

type Verdict = 'kept' | 'MISSED' | 'UNSETTLED';

export function verdictOf({ value, promise, othersShare = 0 }: Finding): Verdict {
  if (othersShare > maxOthersShare) return 'UNSETTLED';
  return ('atLeast' in promise ? value >= promise.atLeast : value <= promise.atMost) ? 'kept' : 'MISSED';
}

/** A value as people read it: with at most three digits that count. */
export const number = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(value >= 10 ? 1 : 2);

export const othersLine = (othersShare: number): string =>
  `Other programs took ${Math.round(othersShare * 100)}% of both cores.`;

/** The value, the promise and the verdict, in one line. */
function resultOf(finding: Finding): string {
  const { value, promise, othersShare = 0 } = finding;
  const unit = finding.unit ? ` ${finding.unit}` : '';
  const bound = 'atLeast' in promise ? `at least ${promise.atLeast}` : `at most ${promise.atMost}`;
  const verdict = verdictOf(finding);
  const busy =
    verdict === 'UNSETTLED'
      ? `, because other processes took ${Math.round(othersShare * 100)}% of both cores`
      : '';
  return `${number(value)}${unit}, promised ${bound}${unit}: ${verdict}${busy}`;
}

export const textOf = (measured: Finding | Measurement): string =>
  [
    measured.what,
    ...measured.details.map((line) => `  ${line}`),
    ...(isFinding(measured) ? [`  = ${resultOf(measured)}`] : []),
  ].join('\n');
