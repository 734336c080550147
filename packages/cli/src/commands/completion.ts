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
  readonly options: readonly (Word & { readonly takesValue: boolean })[];
}

function placesOf(command: Command, path: readonly string[] = [], inherited: Place['options'] = []): Place[] {
  const options = [
    ...command.options.map(({ long, description, required }) => ({
      text: long ?? '',
      description,
      takesValue: required,
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
  };
  const inheritable = options.filter(({ text }) => text !== '--version');
  const help = { text: '--help', description: 'print this help', takesValue: false };
  const below = path.length === 0 ? [...inheritable, help] : inheritable;
  const own = path.length === 0 ? { ...place, options: [...options, help] } : place;
  return [own, ...command.commands.flatMap((child) => placesOf(child, [...path, child.name()], below))];
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
const valueOptions = (places: readonly Place[]): string =>
  [
    ...new Set(
      places.flatMap(({ options }) => options.filter((one) => one.takesValue).map(({ text }) => text)),
    ),
  ].join('|');
const paths = (places: readonly Place[]): string =>
  places.flatMap(({ path }) => (path === '' ? [] : [quoted(path)])).join('|');

/** Shell code that finds the command words before the cursor, skipping options and their values. */
const findPath = (places: readonly Place[], words: string, first: number, end: string): string => `\
  local place= i
  for ((i = ${first}; i < ${end}; i++)); do
    case \${${words}[i]} in
      ${valueOptions(places)}) ((i++)); continue ;;
    esac
    case "$place\${place:+ }\${${words}[i]}" in
      ${paths(places)}) place="$place\${place:+ }\${${words}[i]}" ;;
    esac
  done`;

interface Names {
  readonly name: string;
  readonly shellFunction: string;
}

const scripts: Record<Shell, (places: readonly Place[], names: Names) => string> = {
  bash: (places, { name, shellFunction }) => `\
# Completion of ${name} for bash
${shellFunction}() {
${findPath(places, 'COMP_WORDS', 1, 'COMP_CWORD')}
  COMPREPLY=()
  case \${COMP_WORDS[COMP_CWORD - 1]} in
    ${valueOptions(places)}) return ;;
  esac
  local words=
  case $place in
${places
  .map(
    ({ path, commands, options }) =>
      `    ${quoted(path)}) words=${quoted([...commands, ...options].map(({ text }) => text).join(' '))} ;;`,
  )
  .join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F ${shellFunction} ${name}`,

  zsh: (places, { name, shellFunction }) => `\
#compdef ${name}
# Completion of ${name} for zsh
${shellFunction}() {
${findPath(places, 'words', 2, 'CURRENT')}
  local -a commands options
  case \${words[CURRENT - 1]} in
    ${valueOptions(places)}) return ;;
  esac
  case $place in
${places
  .map(
    ({ path, commands, options }) =>
      `    ${quoted(path)}) commands=(${zshWords(commands)}); options=(${zshWords(options)}) ;;`,
  )
  .join('\n')}
  esac
  (( $#commands )) && _describe command commands
  _describe option options
}
if [[ $funcstack[1] == ${shellFunction} ]]; then ${shellFunction} "$@"; else compdef ${shellFunction} ${name}; fi`,

  fish: (places, { name }) => `\
# Completion of ${name} for fish
complete -c ${name} -f
${[
  ...new Set(
    places.flatMap((place) => [
      ...place.commands.map(
        ({ text, description }) => `${fishAt(name, places, place)} -a ${text}${fishDescription(description)}`,
      ),
      ...place.options.map(
        ({ text, description, takesValue }) =>
          `${fishAt(name, places, place)} -l ${text.slice(2)}${takesValue ? ' -x' : ''}${fishDescription(description)}`,
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
