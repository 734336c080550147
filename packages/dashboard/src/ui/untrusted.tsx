import { untrustedText } from '@latchkey/contract/untrusted-text';

/**
 * ErrorMessages that a requester said of itself: quoted, set apart and isolated, so that they cannot pass for words of
 * this page or change the ones around them.
 */
export function Untrusted({ text }: { text: string | null }) {
  if (text === null || text.trim() === '') return <span class="missing">not given</span>;
  return (
    <q class="claimed">
      <bdi>{untrustedText(text)}</bdi>
    </q>
  );
}
