import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { listCommandOf } from '../help.ts';

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
  const takingValues = places.flatMap(({ options }) => options.filter(({ takesValue }) => takesValue));
  const valueOptions = [...new Map(takingValues.map((option) => [option.text, option])).values()];
  const listedOptions = valueOptions.filter(({ listedBy }) => listedBy !== undefined);
  const listCommands = new Set([...places, ...listedOptions].flatMap(({ listedBy }) => listedBy ?? []));
  const shellFunction = `_${name.replaceAll('-', '_')}`;
  return scripts[shell]({ name, shellFunction, places, valueOptions, listedOptions, listCommands });
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
  /** The command whose names can follow, too. */
  readonly listedBy: string | undefined;
}

interface OptionWord extends Word {
  readonly takesValue: boolean;
  /** The command whose names are its values. */
  readonly listedBy?: string | undefined;
}

interface Grammar {
  readonly name: string;
  readonly shellFunction: string;
  readonly places: readonly Place[];
  /** The options that the next word belongs to, each once. */
  readonly valueOptions: readonly OptionWord[];
  /** The options whose values a command lists. */
  readonly listedOptions: readonly OptionWord[];
  /** The commands whose names complete something. */
  readonly listCommands: ReadonlySet<string>;
}

const help: OptionWord = { text: '--help', description: 'print this help', takesValue: false };

function placesOf(command: Command, path = '', inherited: readonly OptionWord[] = [help]): Place[] {
  const options = [
    ...command.options.map((option) => ({
      text: option.long ?? '',
      description: option.description,
      takesValue: option.required,
      listedBy: listCommandOf(option),
    })),
    ...inherited,
  ];
  const values = command.registeredArguments;
  const place: Place = {
    path,
    commands: [
      ...command.commands.map((child) => ({ text: child.name(), description: child.description() })),
      ...values.flatMap(({ argChoices = [] }) => argChoices.map((text) => ({ text, description: '' }))),
    ],
    options,
    listedBy: values.map(listCommandOf).find((lister) => lister !== undefined),
  };
  const below = options.filter(({ text }) => text !== '--version');
  const pathOf = (child: Command) => `${path} ${child.name()}`.trim();
  return [place, ...command.commands.flatMap((child) => placesOf(child, pathOf(child), below))];
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * Prints the names that a command lists: the first column of its table. Names with other characters are left
 * out, because a shell might interpret them.
 */
const printNames = (name: string, command: string, server: string): string =>
  `${name} ${server} ${command} 2>/dev/null </dev/null | sed -n '2,$s/^\\([A-Za-z0-9._@+-]\\{1,\\}\\) .*/\\1/p'`;

/** Functions of bash and zsh that print the names that a command lists at a server, if one is given. */
const nameFunctions = ({ name, shellFunction, listCommands }: Grammar): string =>
  Array.from(listCommands, (command) => {
    const server = `\${1:+--server} \${1:+"$1"}`;
    return `${shellFunction}_${command}() { ${printNames(name, command, server)}; }\n`;
  }).join('');

/**
 * Code of bash and zsh that finds the command words before the cursor, skipping options and their values. An option whose
 * value is next, and can be completed, is a place of its own.
 */
function findPlace({ places, ...grammar }: Grammar, words: string, first: number, end: string): string {
  const valueOptions = grammar.valueOptions.map(({ text }) => text).join('|');
  const paths = places.flatMap(({ path }) => (path === '' ? [] : [quoted(path)])).join('|');
  return `\
  local place= server= i
  for ((i = ${first}; i < ${end}; i++)); do
    case \${${words}[i]} in
      --server) server=\${${words}[i + 1]}; ((i++)); continue ;;
      ${valueOptions}) ((i++)); continue ;;
    esac
    case "$place\${place:+ }\${${words}[i]}" in
      ${paths}) place="$place\${place:+ }\${${words}[i]}" ;;
    esac
  done
  case \${${words}[${end} - 1]} in
${grammar.listedOptions.map(({ text }) => `    ${text}) place=${text} ;;\n`).join('')}    ${valueOptions}) return ;;
  esac`;
}

/** The cases of what can follow at each place. */
const placeCases = (
  { places, listedOptions, shellFunction }: Grammar,
  words: (place: Place) => string,
  names: (output: string) => string,
): string =>
  [
    ...places.map((place) => ({ at: quoted(place.path), sets: words(place), listedBy: place.listedBy })),
    ...listedOptions.map(({ text, listedBy }) => ({ at: text, sets: '', listedBy })),
  ]
    .map(({ at, sets, listedBy }) => {
      const listed = listedBy && names(`"$(${shellFunction}_${listedBy} "$server")"`);
      return `    ${at}) ${[sets, listed].filter(Boolean).join('; ')} ;;`;
    })
    .join('\n');

const scripts: Record<Shell, (grammar: Grammar) => string> = {
  // The words come from the line, because bash also splits them at `:` and `@`. Of the word before the cursor it keeps what
  // is before the last `@`.
  bash: (grammar) => `\
# Completion of ${grammar.name} for bash
${nameFunctions(grammar)}${grammar.shellFunction}() {
  local line=\${COMP_LINE:0:COMP_POINT} words= names= typed last current kept= word
  read -ra typed <<<"$line"
  [[ $line == *[[:space:]] ]] && typed+=('')
  last=$((\${#typed[@]} - 1)) current=\${typed[last]}
  COMPREPLY=()
${findPlace(grammar, 'typed', 1, 'last')}
  case $place in
${placeCases(
  grammar,
  ({ commands, options }) => `words=${quoted([...commands, ...options].map(({ text }) => text).join(' '))}`,
  (output) => `names=${output}`,
)}
  esac
  [[ $COMP_WORDBREAKS == *@* && $current == *@* ]] && kept=\${current%@*}
  for word in $words $names; do
    [[ $word == "$current"* ]] && COMPREPLY+=("\${word#"$kept"}")
  done
}
complete -F ${grammar.shellFunction} ${grammar.name}`,

  zsh: (grammar) => `\
#compdef ${grammar.name}
# Completion of ${grammar.name} for zsh
${nameFunctions(grammar)}${grammar.shellFunction}() {
${findPlace(grammar, 'words', 2, 'CURRENT')}
  local -a commands options names
  case $place in
${placeCases(
  grammar,
  ({ commands, options }) => `commands=(${zshWords(commands)}); options=(${zshWords(options)})`,
  (output) => `names=(\${(f)${output}})`,
)}
  esac
  (( $#names )) && compadd -a names
  (( $#commands )) && _describe command commands
  (( $#options )) && _describe option options
}
if [[ $funcstack[1] == ${grammar.shellFunction} ]]; then ${grammar.shellFunction} "$@"; else compdef ${grammar.shellFunction} ${grammar.name}; fi`,

  fish: ({ name, shellFunction, places, listCommands }) => `\
# Completion of ${name} for fish
${Array.from(
  listCommands,
  (command) => `\
function _${shellFunction}_${command}
  set -l typed (commandline -opc)
  set -l at (contains -i -- --server $typed)
  set -l server
  test -n "$at"; and set server --server $typed[(math $at + 1)]
  ${printNames(name, command, '$server')}
end
`,
).join('')}complete -c ${name} -f
${[
  ...new Set(
    places.flatMap((place) => {
      const at = `complete -c ${name} -n ${fishCondition(place)}`;
      const names = ({ listedBy }: Place | OptionWord) =>
        listedBy === undefined ? '' : ` -a ${quoted(`(_${shellFunction}_${listedBy})`)}`;
      return [
        ...(place.listedBy === undefined ? [] : [at + names(place)]),
        ...place.commands.map(({ text, description }) => `${at} -a ${text}${fishDescription(description)}`),
        ...place.options.map(
          (option) =>
            `${at} -l ${option.text.slice(2)}${option.takesValue ? ' -x' : ''}${names(option)}${fishDescription(option.description)}`,
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
