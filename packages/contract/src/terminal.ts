// How `latchkey` and `latchkey-server` look in a terminal.

/** Whether a person wants styles, and the terminal knows them. @see https://no-color.org */
export const showsStyles = ({ NO_COLOR, TERM }: Readonly<Record<string, string | undefined>>): boolean =>
  !NO_COLOR?.trim() && TERM !== 'dumb';

/**
 * Whether this process opened a descriptor itself, according to its entry in `/proc/self/fdinfo`: the
 * descriptor is then close-on-exec. A runtime opens /dev/null in place of a standard output that its caller
 * closed (`>&-`).
 */
export const isOpenedHere = (fdInfo: string): boolean =>
  (Number.parseInt(/^flags:\s*([0-7]+)$/m.exec(fdInfo)?.[1] ?? '', 8) & 0o2000000) !== 0;

/** An error of commander as sentences: without `error:`, with a capital letter and a full stop. */
export function usageSentence(message: string): string {
  const [first = '', suggestion] = message.trim().split('\n');
  const sentence = first.replace(/^error: (.)/, (_, letter: string) => letter.toUpperCase());
  return `${sentence.replace(/\.$/, '')}.${suggestion ? ` ${suggestion}` : ''}`;
}

/** A refusal of the service for people: what it calls a field is an option to them. */
export const optionSentence = (message: string): string =>
  message.replace(
    /^(?:[a-z_]+\.)?([a-z_]+): (.+?)\.?$/s,
    (_, field: string, rule: string) => `--${field.replaceAll('_', '-')}: ${rule}.`,
  );
