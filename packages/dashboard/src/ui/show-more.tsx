import { texts } from '../texts.ts';

interface ShowMoreProps {
  readonly id: string;
  /** The cursor of the next page; null on the last page. */
  readonly cursor: string | null;
  readonly isBusy: boolean;
  readonly onMore: (cursor: string) => void;
}

/** Loads the next page of a list, while there is one. */
export const ShowMore = ({ id, cursor, isBusy, onMore }: ShowMoreProps) =>
  cursor === null ? null : (
    <button type="button" id={id} class="show-more" disabled={isBusy} onClick={() => onMore(cursor)}>
      {texts.common.showMore}
    </button>
  );
