/** How many requests are allowed in a window. The window starts with the first request. */
export interface Quota {
  readonly quota: number;
  readonly windowSeconds: number;
}

/** A rate limit with its default. The code that takes a limit decides what counts. */
export interface Rule extends Quota {
  /** Count for all nodes together. Other limits protect a single node and are counted in its memory. */
  readonly shared: boolean;
  /** What counts, and by which key, in Markdown. */
  readonly description: string;
}

const limit =
  (shared: boolean) =>
  (quota: number, windowSeconds: number, description: string): Rule => ({
    quota,
    windowSeconds,
    shared,
    description,
  });

export const sharedLimit = limit(true);
export const nodeLimit = limit(false);

export type Rules = Readonly<Record<string, Rule>>;

/** The names of all rate limits. Each layer declares its own, and `settings.ts` above puts them together. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging
export interface RateLimits {}

export type RateLimitName = keyof RateLimits;

export type RateLimitRules = Readonly<Record<RateLimitName, Rule>>;
