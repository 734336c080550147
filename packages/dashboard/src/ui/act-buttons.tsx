interface ActButtonsProps {
  readonly harmless: string;
  readonly onHarmless: () => void;
  /** Sends the form. */
  readonly act: string;
  readonly isBusy: boolean;
}

/**
 * The two answers to a question behind a mail's link. The harmless one comes first: a mail scanner that opens the
 * link and presses the first button it finds then changes nothing.
 */
export function ActButtons({ harmless, onHarmless, act, isBusy }: ActButtonsProps) {
  return (
    <div class="choice">
      <button type="button" disabled={isBusy} onClick={onHarmless}>
        {harmless}
      </button>
      <button type="submit" class="primary" disabled={isBusy}>
        {isBusy ? 'One moment…' : act}
      </button>
    </div>
  );
}
