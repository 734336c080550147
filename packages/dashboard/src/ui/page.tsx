import { type ComponentChildren, type ComponentType, options, render, type VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { home } from '../next.ts';
import { texts } from '../texts.ts';
import { Button, ErrorMessage, Heading, Icon } from './elements.tsx';
import { Details } from './facts.tsx';
import { cautionIcon } from './icons.ts';

/** Anything faster would only make the loading state flash. `.placeholder` in style.css uses the same delay. */
const delayMs = 150;

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

export const UnavailablePage = ({ heading, isWide, error, onRetry }: UnavailablePageProps) => (
  <div class={isWide ? 'card' : ''}>
    <Heading key="unavailable">{heading}</Heading>
    <ErrorMessage text={error} />
    <Button class={isWide ? 'primary' : 'primary wide-button'} onClick={onRetry}>
      {texts.common.tryAgain}
    </Button>
  </div>
);

interface OutcomeProps {
  /** `waiting` turns its icon, unless the person wants less motion. */
  readonly tone: 'success' | 'danger' | 'caution' | 'waiting' | 'sent' | 'neutral';
  readonly icon: string;
  readonly heading: string;
  readonly takesFocus?: boolean;
  readonly children: ComponentChildren;
}

/** How something ended, or that it has not yet: a large sign above a heading. */
export const Outcome = ({ tone, icon, heading, takesFocus = false, children }: OutcomeProps) => (
  <div key={heading} class="outcome">
    <span key={tone} class={`sign ${tone}`}>
      <Icon path={icon} />
    </span>
    <Heading takesFocus={takesFocus}>{heading}</Heading>
    {children}
  </div>
);

/** What the service says about a request, in the words of the protocol. */
export const Reason = ({ message }: { message: string }) => (
  <Details summary={texts.common.forDevelopers}>
    <p>
      <code id="reason" translate={false}>
        {message}
      </code>
    </p>
  </Details>
);

/** A request that leads nowhere, with what the service says about it. */
export const Unanswerable = ({ text, message }: Record<'text' | 'message', string>) => (
  <Outcome tone="caution" icon={cautionIcon} heading={texts.common.unanswerable}>
    <p>{text}</p>
    <Reason message={message} />
    <HomeLink />
  </Outcome>
);

/** A way out of an outcome that leads nowhere else. */
export const HomeLink = () => (
  <p>
    <a href={home}>{texts.common.toAccount}</a>
  </p>
);

/** Renders a page in place of the no-script fallback. @param isLoading for one that announces its loading */
export function mount(Page: ComponentType, isLoading?: () => boolean): void {
  const root = document.querySelector('main');
  if (root === null) throw new Error('the page has no main element');
  root.replaceChildren();
  renderTextsAsElements();
  render(
    <>
      {isLoading && <LoadingMessage isLoading={isLoading} />}
      <Page />
    </>,
    root,
  );
}

// A page restored from the back-forward cache would still be disabled, because it was left.
window.addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});

/** Sees an event before everything else on the page. */
const capture = <Name extends 'input' | 'click' | 'keydown'>(
  name: Name,
  handle: (event: DocumentEventMap[Name]) => void,
) => document.addEventListener(name, handle, { capture: true });

/** Whether the next click is meant, however soon it comes: something was typed since the last one, or that one did not count yet. */
let isNextMeant = false;
capture('input', () => {
  isNextMeant = true;
});

// Ignore the second click of a double click: it would hit whatever the first click put under the pointer.
capture('click', (event) => {
  const isMeant = event.detail < 2 || isNextMeant;
  isNextMeant = event.target instanceof Element && event.target.closest('[aria-disabled="true"]') !== null;
  if (isMeant) return;
  event.preventDefault();
  event.stopPropagation();
});

// A key that is held down since the page before submits nothing here.
capture('keydown', (event) => {
  const isLine = event.target instanceof HTMLTextAreaElement;
  if (event.repeat && event.key === 'Enter' && !isLine) event.preventDefault();
});

/** A node as Preact creates it. `type` is null for a text, which is then all of `props`. */
interface NewNode {
  type: VNode['type'] | null;
  props: unknown;
}

const isText = (value: unknown): value is string | number =>
  typeof value === 'string' || typeof value === 'number';

/**
 * Makes each text the content of an element, instead of a text node that Preact keeps. A browser that
 * translates a page replaces text nodes: text that Preact then wrote into its own nodes would not appear, and
 * inserting something before one of them would fail. Space between elements is left alone.
 */
function renderTextsAsElements(): void {
  const next = options.vnode;
  options.vnode = (vnode) => {
    const node: NewNode = vnode;
    if (node.type === null && isText(node.props) && /\S/.test(String(node.props))) {
      node.props = { textContent: node.props };
      node.type = 'span';
    } else if (typeof node.type === 'string') {
      const { children, ...props } = vnode.props;
      if (isText(children)) node.props = { ...props, textContent: children };
    }
    next?.(vnode);
  };
}
