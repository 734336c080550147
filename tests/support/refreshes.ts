/** The refreshes that the service at `url` has answered so far, by outcome. */
async function refreshes(url: string): Promise<Record<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const counts = text.matchAll(/^latchkey_refreshes_total\{outcome="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries([...counts].map(([, outcome, count]) => [outcome!, Number(count)]));
}

/** The refreshes that it answers during some work, by outcome. Those besides `rotated` and `retry` are left out if there are none. */
export async function refreshesDuring(
  url: string,
  work: () => Promise<void>,
): Promise<Record<string, number>> {
  const before = await refreshes(url);
  await work();
  const counts = Object.entries(await refreshes(url)).map(
    ([outcome, count]) => [outcome, count - (before[outcome] ?? 0)] as const,
  );
  const seen = Object.fromEntries(counts.filter(([, count]) => count > 0));
  const { rotated = 0, retry = 0, ...others } = seen;
  return { rotated, retry, ...others };
}
