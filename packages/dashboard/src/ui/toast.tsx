import { signal } from '@preact/signals';
import { Icon } from './icon.tsx';
import { approvedIcon } from './icons.ts';

const shown = signal('');
let timer: ReturnType<typeof setTimeout> | undefined;

/** Long enough to read two lines twice. The same is on the page: in its list, or in the activity. */
const shownMilliseconds = 10_000;

/** Says that something was done, in place of what was said before. */
export function showToast(text: string): void {
  clearTimeout(timer);
  shown.value = text;
  timer = setTimeout(hideToast, shownMilliseconds);
}

export function hideToast(): void {
  shown.value = '';
}

/** What `showToast` says, announced when the screen reader pauses. Stays mounted while empty, as live regions must. */
export const Toast = () => (
  <p id="toast" class="toast" role="status">
    {shown.value === '' ? null : (
      <span key={shown.value}>
        <Icon path={approvedIcon} />
        {shown.value}
      </span>
    )}
  </p>
);
