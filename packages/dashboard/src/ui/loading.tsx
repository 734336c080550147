import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { texts } from '../texts.ts';
import { Button } from './button.tsx';
import { Heading } from './heading.tsx';
import { ErrorMessage } from './messages.tsx';

/** Anything faster would only make the loading state flash. `.placeholder` in style.css uses the same delay. */
const delayMs = 150;

/** Shows its children after a short delay. */
export function Delayed({ children }: { children: ComponentChildren }): ComponentChildren {
  const [isDue, setIsDue] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsDue(true), delayMs);
    return () => clearTimeout(timer);
  }, []);
  return isDue ? children : null;
}

/** Announces loading to screen readers. Stays mounted while empty, as live regions must. */
export const LoadingMessage = ({ isLoading }: { isLoading: () => boolean }) => (
  <p id="loading" class="visually-hidden" role="status">
    {isLoading() ? <Delayed>{texts.common.loading}</Delayed> : null}
  </p>
);

/** Reserves room for entries that are still loading, so that the content below hardly moves. */
export const Placeholder = ({ entries }: { entries: number }) => (
  <div class="placeholder" aria-hidden="true">
    {Array.from({ length: entries }, (_, index) => (
      <p key={index} class="blank" />
    ))}
  </div>
);

interface PageProps {
  readonly heading: string;
  /** Of a page that is no card itself. */
  readonly isWide?: boolean;
}

/** A page that is still loading. */
export const LoadingPage = ({ heading, isWide, entries }: PageProps & { entries: number }) => (
  <Delayed>
    <div class={isWide ? 'card' : ''}>
      <Heading key="loading">{heading}</Heading>
      <Placeholder entries={entries} />
    </div>
  </Delayed>
);

interface UnavailablePageProps extends PageProps {
  readonly error: string;
  readonly onRetry: () => unknown;
}

/** A page that could not be loaded. */
export const UnavailablePage = ({ heading, isWide, error, onRetry }: UnavailablePageProps) => (
  <div class={isWide ? 'card' : ''}>
    <Heading key="unavailable">{heading}</Heading>
    <ErrorMessage text={error} />
    <Button class={isWide ? 'primary' : 'primary wide-button'} onClick={onRetry}>
      {texts.common.tryAgain}
    </Button>
  </div>
);
