import type { ComponentChildren } from 'preact';
import { Icon } from './icon.tsx';
import { detailsIcon } from './icons.ts';

/** What most people need not read, behind its summary. */
export const Details = ({
  summary,
  children,
}: {
  summary: ComponentChildren;
  children: ComponentChildren;
}) => (
  <details class="quiet">
    <summary>
      <span class="chevron">
        <Icon path={detailsIcon} />
      </span>
      {summary}
    </summary>
    {children}
  </details>
);
