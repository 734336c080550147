import type { ComponentChildren } from 'preact';
import { IconBox } from './elements.tsx';

interface RowProps {
  /** The id of the title, if it names the entry. */
  readonly titleId?: string;
  readonly icon: string;
  readonly isCaution?: boolean;
  readonly title: ComponentChildren;
  readonly children: ComponentChildren;
  readonly action?: ComponentChildren;
  /** A question or a form about it. */
  readonly below?: ComponentChildren;
}

/** A list entry: an icon, a description, the time of last use, and one action. */
export const Row = ({ titleId, icon, isCaution = false, title, children, action, below }: RowProps) => (
  <li aria-labelledby={titleId}>
    <div class="item">
      <IconBox path={icon} isCaution={isCaution} />
      <div>
        <p id={titleId} class="title">
          {title}
        </p>
        <div class="meta">{children}</div>
      </div>
      {action}
      {below}
    </div>
  </li>
);

interface ListProps {
  readonly id: string;
  /** What it shows while it is empty; without this, nothing. */
  readonly none?: { readonly icon: string; readonly text: string } | undefined;
  readonly children: readonly ComponentChildren[];
}

export function List({ id, none, children }: ListProps) {
  if (children.length > 0)
    return (
      <ul id={id} class="plain-list" aria-labelledby={`${id}-heading`}>
        {children}
      </ul>
    );
  return none === undefined ? null : (
    <div class="empty">
      <IconBox path={none.icon} />
      <p>{none.text}</p>
    </div>
  );
}
