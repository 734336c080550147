import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/** What is there sooner is shown at once: a notice of waiting would only flash. The placeholder's style has the same. */
const patienceMilliseconds = 150;

/** Shows what is in it only once it is worth saying that this takes a while. */
export function Delayed({ children }: { children: ComponentChildren }): ComponentChildren {
  const [isDue, setIsDue] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsDue(true), patienceMilliseconds);
    return () => clearTimeout(timer);
  }, []);
  return isDue ? children : null;
}

/** Tells who cannot see the placeholders that something is still to come. Stays in the page, as all such regions. */
export function LoadingMessage({ isWaiting }: { isWaiting: boolean }) {
  return (
    <p id="waiting" class="unseen" role="status">
      {isWaiting ? <Delayed>One moment…</Delayed> : null}
    </p>
  );
}

/** Keeps the place of some entries that are still to come, so that what stands below them moves little. */
export function Placeholder({ entries }: { entries: number }) {
  return (
    <div class="placeholder" aria-hidden="true">
      {Array.from({ length: entries }, (_, index) => (
        <p key={index} class="blank" />
      ))}
    </div>
  );
}
