/** An icon from icons.ts. Decorative: the words beside it say the same. */
export const Icon = ({ path }: { path: string }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={path} />
  </svg>
);

/** An icon on a tinted square, at the start of a row. */
export const IconBox = ({ path, isCaution = false }: { path: string; isCaution?: boolean }) => (
  <span class={isCaution ? 'icon-box caution' : 'icon-box'}>
    <Icon path={path} />
  </span>
);
