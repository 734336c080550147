import type { Argument, Command, Option } from 'commander';
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
  return scripts[shell](placesOf(program), { name, shellFunction: `_${name.replaceAll('-', '_')}` });
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

function placesOf(command: Command, path: readonly string[] = [], inherited: Place['options'] = []): Place[] {
  const options = [
    ...command.options.map((option) => ({
      text: option.long ?? '',
      description: option.description,
      takesValue: option.required,
      listedBy: listCommandOf(option),
    })),
    ...inherited,
  ];
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
  const place: Place = {
    path: path.join(' '),
    commands: [
      ...command.commands.map((child) => ({ text: child.name(), description: child.description() })),
      ...choices.map((choice) => ({ text: choice, description: '' })),
    ],
    options,
    listedBy: firstListed(command.registeredArguments),
  };
  const inheritable = options.filter(({ text }) => text !== '--version');
  const help = { text: '--help', description: 'print this help', takesValue: false };
  const below = path.length === 0 ? [...inheritable, help] : inheritable;
  const own = path.length === 0 ? { ...place, options: [...options, help] } : place;
  return [own, ...command.commands.flatMap((child) => placesOf(child, [...path, child.name()], below))];
}

const firstListed = (values: readonly (Argument | Option)[]): string | undefined =>
  values.map(listCommandOf).find((command) => command !== undefined);

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
/** The options that the next word belongs to, each once. */
const valueOptions = (places: readonly Place[]): OptionWord[] => [
  ...new Map(
    places.flatMap(({ options }) => options.filter((one) => one.takesValue).map((one) => [one.text, one])),
  ).values(),
];
const valueOptionPattern = (places: readonly Place[]): string =>
  valueOptions(places)
    .map(({ text }) => text)
    .join('|');
const paths = (places: readonly Place[]): string =>
  places.flatMap(({ path }) => (path === '' ? [] : [quoted(path)])).join('|');

/** The options whose values a command lists. */
const listedOptions = (places: readonly Place[]): OptionWord[] =>
  valueOptions(places).filter(({ listedBy }) => listedBy !== undefined);

/** The commands whose names complete something. */
const listCommands = (places: readonly Place[]): string[] => [
  ...new Set([...places, ...listedOptions(places)].flatMap(({ listedBy }) => listedBy ?? [])),
];

/**
 * Prints the names that a command lists: the first column of its table. Names with other characters are left
 * out, because a shell might interpret them.
 */
const printNames = (name: string, command: string, server: string): string =>
  `${name} ${server} ${command} 2>/dev/null </dev/null | sed -n '2,$s/^\\([A-Za-z0-9._@+-]\\{1,\\}\\) .*/\\1/p'`;

interface Names {
  readonly name: string;
  readonly shellFunction: string;
}

/** Functions of bash and zsh that print the names that a command lists at a server, if one is given. */
const nameFunctions = (places: readonly Place[], { name, shellFunction }: Names): string =>
  listCommands(places)
    .map((command) => {
      const server = `\${1:+--server} \${1:+"$1"}`;
      return `${shellFunction}_${command}() { ${printNames(name, command, server)}; }\n`;
    })
    .join('');

/**
 * Code of bash and zsh that finds the command words before the cursor, skipping options and their values. An option whose
 * value is next, and can be completed, is a place of its own.
 */
const findPlace = (places: readonly Place[], words: string, first: number, end: string): string => `\
  local place= server= i
  for ((i = ${first}; i < ${end}; i++)); do
    case \${${words}[i]} in
      --server) server=\${${words}[i + 1]}; ((i++)); continue ;;
      ${valueOptionPattern(places)}) ((i++)); continue ;;
    esac
    case "$place\${place:+ }\${${words}[i]}" in
      ${paths(places)}) place="$place\${place:+ }\${${words}[i]}" ;;
    esac
  done
  case \${${words}[${end} - 1]} in
${listedOptions(places)
  .map(({ text }) => `    ${text}) place=${text} ;;\n`)
  .join('')}    ${valueOptionPattern(places)}) return ;;
  esac`;

/** The cases of what can follow at each place. */
const placeCases = (
  places: readonly Place[],
  { shellFunction }: Names,
  { words, names }: { words: (place: Place) => string; names: (output: string) => string },
): string =>
  [
    ...places.map((place) => ({ at: quoted(place.path), sets: words(place), listedBy: place.listedBy })),
    ...listedOptions(places).map(({ text, listedBy }) => ({ at: text, sets: '', listedBy })),
  ]
    .map(({ at, sets, listedBy }) => {
      const listed = listedBy && names(`"$(${shellFunction}_${listedBy} "$server")"`);
      return `    ${at}) ${[sets, listed].filter(Boolean).join('; ')} ;;`;
    })
    .join('\n');

const scripts: Record<Shell, (places: readonly Place[], names: Names) => string> = {
  // The words come from the line, because bash also splits them at `:` and `@`. Of the word before the cursor it keeps what
  // is before the last `@`.
  bash: (places, names) => `\
# Completion of ${names.name} for bash
${nameFunctions(places, names)}${names.shellFunction}() {
  local line=\${COMP_LINE:0:COMP_POINT} words= names= typed last current kept= word
  read -ra typed <<<"$line"
  [[ $line == *[[:space:]] ]] && typed+=('')
  last=$((\${#typed[@]} - 1)) current=\${typed[last]}
  COMPREPLY=()
${findPlace(places, 'typed', 1, 'last')}
  case $place in
${placeCases(places, names, {
  words: ({ commands, options }) =>
    `words=${quoted([...commands, ...options].map(({ text }) => text).join(' '))}`,
  names: (output) => `names=${output}`,
})}
  esac
  [[ $COMP_WORDBREAKS == *@* && $current == *@* ]] && kept=\${current%@*}
  for word in $words $names; do
    [[ $word == "$current"* ]] && COMPREPLY+=("\${word#"$kept"}")
  done
}
complete -F ${names.shellFunction} ${names.name}`,

  zsh: (places, names) => `\
#compdef ${names.name}
# Completion of ${names.name} for zsh
${nameFunctions(places, names)}${names.shellFunction}() {
${findPlace(places, 'words', 2, 'CURRENT')}
  local -a commands options names
  case $place in
${placeCases(places, names, {
  words: ({ commands, options }) => `commands=(${zshWords(commands)}); options=(${zshWords(options)})`,
  names: (output) => `names=(\${(f)${output}})`,
})}
  esac
  (( $#names )) && compadd -a names
  (( $#commands )) && _describe command commands
  (( $#options )) && _describe option options
}
if [[ $funcstack[1] == ${names.shellFunction} ]]; then ${names.shellFunction} "$@"; else compdef ${names.shellFunction} ${names.name}; fi`,

  fish: (places, { name, shellFunction }) => `\
# Completion of ${name} for fish
${listCommands(places)
  .map(
    (command) => `\
function _${shellFunction}_${command}
  set -l typed (commandline -opc)
  set -l at (contains -i -- --server $typed)
  set -l server
  test -n "$at"; and set server --server $typed[(math $at + 1)]
  ${printNames(name, command, '$server')}
end
`,
  )
  .join('')}complete -c ${name} -f
${[
  ...new Set(
    places.flatMap((place) => [
      ...(place.listedBy === undefined
        ? []
        : [`${fishAt(name, places, place)} -a ${quoted(`(_${shellFunction}_${place.listedBy})`)}`]),
      ...place.commands.map(
        ({ text, description }) => `${fishAt(name, places, place)} -a ${text}${fishDescription(description)}`,
      ),
      ...place.options.map(
        ({ text, description, takesValue, listedBy }) =>
          `${fishAt(name, places, place)} -l ${text.slice(2)}${takesValue ? ' -x' : ''}${listedBy === undefined ? '' : ` -a ${quoted(`(_${shellFunction}_${listedBy})`)}`}${fishDescription(description)}`,
      ),
    ]),
  ),
].join('\n')}`,
};

const zshWords = (words: readonly Word[]): string =>
  words.map(({ text, description }) => quoted(description ? `${text}:${description}` : text)).join(' ');

const fishDescription = (description: string): string =>
  description === '' ? '' : ` -d ${quoted(description).replaceAll(`'\\''`, `\\'`)}`;

/** A fish condition: exactly these command words have been typed. */
function fishAt(name: string, places: readonly Place[], { path, commands }: Place): string {
  if (path === '') return `complete -c ${name} -n __fish_use_subcommand`;
  const seen = path.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`);
  const further =
    commands.length === 0
      ? []
      : [`not __fish_seen_subcommand_from ${commands.map(({ text }) => text).join(' ')}`];
  const isKnown = places.some((place) => place.path === path);
  return `complete -c ${name} -n ${quoted(isKnown ? [...seen, ...further].join('; and ') : '')}`;
}
