import { browserName } from './browser-name.ts';
import { Icon } from './icon.tsx';
import { detailsIcon } from './icons.ts';
import { Untrusted } from './untrusted.tsx';

/** A user agent: for browsers a short name that expands to the full string, otherwise the string itself. */
export function UserAgent({ text }: { text: string }) {
  const name = browserName(text);
  if (name === undefined) {
    return (
      <p class="quiet">
        <Untrusted text={text} />
      </p>
    );
  }
  return (
    <details class="quiet">
      <summary>
        <Icon path={detailsIcon} />
        <Untrusted text={name} />
      </summary>
      <p>
        <Untrusted text={text} />
      </p>
    </details>
  );
}
