interface ShowMoreProps {
  readonly id: string;
  /** Where the next page begins; null on the last one. */
  readonly after: string | null;
  readonly isBusy: boolean;
  readonly onMore: (after: string) => void;
}

/** The way to the next page of a list, as long as there is one. */
export const ShowMore = ({ id, after, isBusy, onMore }: ShowMoreProps) =>
  after === null ? null : (
    <button type="button" id={id} disabled={isBusy} onClick={() => onMore(after)}>
      Show more
    </button>
  );
