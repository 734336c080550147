import { signal } from '@preact/signals';
import { useLayoutEffect, useState } from 'preact/hooks';
import { Button, type ButtonProps } from './elements.tsx';

/** Shorter than anyone needs to read a question. */
const minReviewMs = 500;

function reviewTimer() {
  const isReviewed = signal(false);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const start = () => {
    timer ??= setTimeout(() => {
      isReviewed.value = true;
    }, minReviewMs);
  };
  const stop = () => {
    clearTimeout(timer);
    timer = undefined;
    isReviewed.value = false;
  };
  return { isReviewed, start, stop };
}

/**
 * A button that does at once what a link of another site can lead to. That site can open the page under the pointer between two clicks on
 * its own window, or under a key. So the button works only after a moment in a window that has the focus, by pointer and keyboard alike. A
 * press before that starts the moment, if nothing else did.
 */
export function ReviewedButton(props: ButtonProps) {
  const [{ isReviewed, start, stop }] = useState(reviewTimer);
  useLayoutEffect(() => {
    if (document.hasFocus()) start();
    window.addEventListener('focus', start);
    window.addEventListener('blur', stop);
    return () => {
      window.removeEventListener('focus', start);
      window.removeEventListener('blur', stop);
      stop();
    };
  }, []);
  const ignoreEarly = (event: Event) => {
    if (isReviewed.value) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    start();
  };
  return <Button {...props} aria-disabled={!isReviewed.value} onClickCapture={ignoreEarly} />;
}
