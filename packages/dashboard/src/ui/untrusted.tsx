import { untrustedText } from '@latchkey/contract/untrusted-text';
import { texts } from '../texts.ts';

/**
 * Text supplied by a program or another person: quoted, styled apart and direction-isolated, so that it can't pass
 * for the page's own words or disturb the text around it.
 */
export function Untrusted({ text }: { text: string | null }) {
  if (text === null || text.trim() === '') return <span class="missing">{texts.common.unknown}</span>;
  return (
    <q class="untrusted">
      <bdi>{untrustedText(text)}</bdi>
    </q>
  );
}

/** Explains the quotes; shown below a list with `Untrusted` text. */
export const UntrustedHint = () => <p class="hint">{texts.common.quotesExplained}</p>;

/** An email address in a sentence. */
export const Address = ({ children, id }: { children: string; id?: string }) => (
  <strong>
    <bdi id={id}>{children}</bdi>
  </strong>
);
