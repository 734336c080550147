import { browserName } from './browser-name.ts';
import { Untrusted } from './untrusted.tsx';

/** What a program calls itself: a browser in words that people know, with the whole of it behind them. */
export function UserAgent({ text }: { text: string }) {
  const words = browserName(text);
  if (words === undefined) {
    return (
      <p class="quiet">
        <Untrusted text={text} />
      </p>
    );
  }
  return (
    <details class="quiet">
      <summary>
        <Untrusted text={words} />
      </summary>
      <p>
        <Untrusted text={text} />
      </p>
    </details>
  );
}
