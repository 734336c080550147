import { useEffect, useState } from 'preact/hooks';
import { clock, remaining } from '../format.ts';

/** Milliseconds from now until `until`, read again every second. */
export function useRemaining(until: number): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return Math.max(0, until - now);
}

/** The time left until `until`, such as `9:32`. Screen readers do not announce each second. */
export const Countdown = ({ until }: { until: number }) => (
  <time
    role="timer"
    class="countdown"
    dateTime={new Date(until).toISOString()}
    title={clock(new Date(until))}
  >
    {remaining(useRemaining(until))}
  </time>
);
