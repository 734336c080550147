import type { ComponentChildren } from 'preact';
import { IconBox } from './icon.tsx';

interface RowProps {
  /** The id of the title, which names the row. */
  readonly titleId: string;
  readonly icon: string;
  readonly isCaution?: boolean;
  readonly title: ComponentChildren;
  /** Lines below the title. */
  readonly children: ComponentChildren;
  readonly action?: ComponentChildren;
  /** A question or a form about this row, below it. */
  readonly below?: ComponentChildren;
}

/** The content of a list item: an icon, what it is, when it was used, and one action. */
export const Row = ({ titleId, icon, isCaution = false, title, children, action, below }: RowProps) => (
  <div class="item">
    <IconBox path={icon} isCaution={isCaution} />
    <div>
      <p id={titleId} class="title">
        {title}
      </p>
      <div class="meta">{children}</div>
    </div>
    {action ?? null}
    {below ?? null}
  </div>
);

/** What a list shows while it is empty. */
export const Empty = ({ icon, children }: { icon: string; children: ComponentChildren }) => (
  <div class="empty">
    <IconBox path={icon} />
    {children}
  </div>
);
