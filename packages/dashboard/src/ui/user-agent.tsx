import { browserText } from '../browser-text.ts';
import { Details } from './details.tsx';
import { Untrusted } from './untrusted.tsx';

/** A user agent: for browsers a short name that expands to the full string, otherwise the string itself. */
export function UserAgent({ text }: { text: string }) {
  const name = browserText(text);
  if (name === undefined) {
    return (
      <p class="quiet">
        <Untrusted text={text} />
      </p>
    );
  }
  return (
    <Details summary={<Untrusted text={name} />}>
      <p>
        <Untrusted text={text} />
      </p>
    </Details>
  );
}
