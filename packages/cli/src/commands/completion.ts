import type { Command } from 'commander';
import type { Context } from '../context.ts';

export type Shell = 'bash' | 'zsh' | 'fish';

/** `latchkey completion SHELL` */
export async function completion({ output }: Context, shell: Shell, program: Command): Promise<void> {
  const script = completionScript(shell, program);
  output.result({ shell, script }, () => script.split('\n'));
}

/** A script that completes the commands and options of a program, generated from their definitions. */
export function completionScript(shell: Shell, program: Command): string {
  const name = program.name();
  const places = placesOf(program);
  const root = places[0]!;
  const withHelp = places.map((place) =>
    place.path === 'help' ? { ...place, commands: root.commands } : place,
  );
  const takingValues = places.flatMap(({ options }) => options.filter(({ takesValue }) => takesValue));
  const valueOptions = [...new Set(takingValues.map(({ text }) => text))];
  const shellFunction = `_${name.replaceAll('-', '_')}`;
  return scripts[shell]({ name, shellFunction, places: withHelp, valueOptions });
}

interface Word {
  readonly text: string;
  readonly description: string;
}

/** What can follow the command words `path` (joined by spaces). */
interface Place {
  readonly path: string;
  readonly commands: readonly Word[];
  readonly options: readonly OptionWord[];
}

interface OptionWord extends Word {
  readonly takesValue: boolean;
}

interface Grammar {
  readonly name: string;
  readonly shellFunction: string;
  readonly places: readonly Place[];
  /** The options that the next word belongs to, each once. */
  readonly valueOptions: readonly string[];
}

const help: OptionWord = { text: '--help', description: 'print this help', takesValue: false };

function placesOf(command: Command, path = '', inherited: readonly OptionWord[] = [help]): Place[] {
  const own = command.options.map((option) => ({
    text: option.long ?? '',
    description: option.description,
    takesValue: option.required,
  }));
  const isOwn = ({ text }: OptionWord) => own.some((option) => option.text === text);
  const options = [...own, ...inherited.filter((option) => !isOwn(option))];
  const values = command.registeredArguments;
  const place: Place = {
    path,
    commands: [
      ...command.commands.map((child) => ({ text: child.name(), description: child.description() })),
      ...values.flatMap(({ argChoices = [] }) => argChoices.map((text) => ({ text, description: '' }))),
    ],
    options,
  };
  const below = options.filter(({ text }) => text !== '--version');
  const pathOf = (child: Command) => `${path} ${child.name()}`.trim();
  return [place, ...command.commands.flatMap((child) => placesOf(child, pathOf(child), below))];
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Code of bash and zsh that finds the command words before the cursor, skipping options and their values. */
function findPlace({ places, ...grammar }: Grammar, words: string, first: number, end: string): string {
  const valueOptions = grammar.valueOptions.join('|');
  const paths = places.flatMap(({ path }) => (path === '' ? [] : [quoted(path)])).join('|');
  return `\
  local place= i
  for ((i = ${first}; i < ${end}; i++)); do
    case \${${words}[i]} in
      ${valueOptions}) ((i++)); continue ;;
    esac
    case "$place\${place:+ }\${${words}[i]}" in
      ${paths}) place="$place\${place:+ }\${${words}[i]}" ;;
    esac
  done
  case \${${words}[${end} - 1]} in
    ${valueOptions}) return ;;
  esac`;
}

/** The cases of what can follow at each place. */
const placeCases = ({ places }: Grammar, words: (place: Place) => string): string =>
  places.map((place) => `    ${quoted(place.path)}) ${words(place)} ;;`).join('\n');

const scripts: Record<Shell, (grammar: Grammar) => string> = {
  // The words come from the line, because bash also splits them at `:` and `@`.
  bash: (grammar) => `\
# Completion of ${grammar.name} for bash
${grammar.shellFunction}() {
  local line=\${COMP_LINE:0:COMP_POINT} words= typed last current word
  read -ra typed <<<"$line"
  [[ $line == *[[:space:]] ]] && typed+=('')
  last=$((\${#typed[@]} - 1)) current=\${typed[last]}
  COMPREPLY=()
${findPlace(grammar, 'typed', 1, 'last')}
  case $place in
${placeCases(
  grammar,
  ({ commands, options }) => `words=${quoted([...commands, ...options].map(({ text }) => text).join(' '))}`,
)}
  esac
  for word in $words; do
    [[ $word == "$current"* ]] && COMPREPLY+=("$word")
  done
}
complete -F ${grammar.shellFunction} ${grammar.name}`,

  zsh: (grammar) => `\
#compdef ${grammar.name}
# Completion of ${grammar.name} for zsh
${grammar.shellFunction}() {
${findPlace(grammar, 'words', 2, 'CURRENT')}
  local -a commands options
  case $place in
${placeCases(
  grammar,
  ({ commands, options }) => `commands=(${zshWords(commands)}); options=(${zshWords(options)})`,
)}
  esac
  (( $#commands )) && _describe command commands
  (( $#options )) && _describe option options
}
if [[ $funcstack[1] == ${grammar.shellFunction} ]]; then ${grammar.shellFunction} "$@"; else compdef ${grammar.shellFunction} ${grammar.name}; fi`,

  fish: ({ name, places }) => `\
# Completion of ${name} for fish
complete -c ${name} -f
${[
  ...new Set(
    places.flatMap((place) => {
      const at = `complete -c ${name} -n ${fishCondition(place)}`;
      return [
        ...place.commands.map(({ text, description }) => `${at} -a ${text}${fishDescription(description)}`),
        ...place.options.map(
          ({ text, takesValue, description }) =>
            `${at} -l ${text.slice(2)}${takesValue ? ' -x' : ''}${fishDescription(description)}`,
        ),
      ];
    }),
  ),
].join('\n')}`,
};

const zshWords = (words: readonly Word[]): string =>
  words.map(({ text, description }) => quoted(description ? `${text}:${description}` : text)).join(' ');

const fishDescription = (description: string): string =>
  description === '' ? '' : ` -d ${quoted(description).replaceAll(`'\\''`, `\\'`)}`;

/** Exactly these command words have been typed. */
function fishCondition({ path, commands }: Place): string {
  if (path === '') return '__fish_use_subcommand';
  const seen = path.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`);
  const further = commands.map(({ text }) => ` ${text}`).join('');
  return quoted([...seen, ...(further ? [`not __fish_seen_subcommand_from${further}`] : [])].join('; and '));
}
