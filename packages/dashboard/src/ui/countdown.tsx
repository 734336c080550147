import { useEffect, useState } from 'preact/hooks';
import { clock, remaining } from '../format.ts';

/** Milliseconds from now until `until`, read again every second. */
export function useRemaining(until: number): number {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((ticks) => ticks + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return Math.max(0, until - Date.now());
}

/** The time left until `until`, such as `9 min 32 sec`. Screen readers do not announce each second. */
export const Countdown = ({ until }: { until: number }) => (
  <time
    role="timer"
    class="countdown"
    translate={false}
    dateTime={new Date(until).toISOString()}
    title={clock(new Date(until))}
  >
    {remaining(useRemaining(until))}
  </time>
);
