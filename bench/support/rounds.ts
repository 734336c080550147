// Runs sides in many short, alternating rounds, so that other activity on the machine affects all of them.

/** The result of one side in one round. */
export interface Sample {
  readonly count: number;
  readonly seconds: number;
  /** CPU seconds of the measured process alone. */
  readonly cpuSeconds: number;
  /** CPU seconds of a database with its own processes. */
  readonly databaseCpuSeconds?: number;
  /** Bytes that the measured process wrote to disk. */
  readonly bytesWritten?: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  readonly p999Ms?: number;
}

export interface Side {
  readonly name: string;
  /** Runs one round. The first ones are for warming up and do not count. */
  run(): Promise<Sample>;
}

/** Duration of one side in one round. */
export const roundSeconds = 1;

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};

export const rateOf = ({ count, seconds }: Sample): number => count / seconds;

/** CPU microseconds of the measured process for each request. */
export const cpuMicros = ({ count, cpuSeconds }: Sample): number => (cpuSeconds / count) * 1e6;

interface Rounds {
  readonly counted: number;
  /** The first rounds are for warming up. */
  readonly warmUps: number;
  /** Runs before the first round that counts. */
  readonly warmedUp?: () => Promise<void>;
}

/** Runs any number of sides in rounds, each time in another order. */
export async function runRounds(
  sides: readonly Side[],
  { counted, warmUps, warmedUp = async () => {} }: Rounds,
): Promise<Map<string, Sample[]>> {
  const samples = new Map<string, Sample[]>(sides.map(({ name }) => [name, []]));
  for (let round = 0; round < warmUps + counted; round++) {
    if (round === warmUps) await warmedUp();
    for (let turn = 0; turn < sides.length; turn++) {
      const { name, run } = sides[(round + turn) % sides.length]!;
      const sample = await run();
      if (round >= warmUps && sample.count > 0) samples.get(name)!.push(sample);
    }
  }
  return samples;
}
