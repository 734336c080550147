import { Claimed } from './claimed.tsx';
import { programWords } from './program-words.ts';

/** What a program calls itself: a browser in words that people know, with the whole of it behind them. */
export function UserAgent({ text }: { text: string }) {
  const words = programWords(text);
  if (words === undefined) {
    return (
      <p class="quiet">
        <Claimed text={text} />
      </p>
    );
  }
  return (
    <details class="quiet">
      <summary>
        <Claimed text={words} />
      </summary>
      <p>
        <Claimed text={text} />
      </p>
    </details>
  );
}
