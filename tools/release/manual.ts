// Man pages, generated from the commands of a program.
// @see man-pages(7), groff_man(7)

import type { Command } from 'commander';
import type { Program } from './programs.ts';

/** The text of the man page. It carries no date, so that the same source gives the same page. */
export function manualOf(program: Program): string {
  const root = program.commands();
  const { name, section, summary } = program;
  const parts = [
    `.TH ${name.toUpperCase()} ${section} "" "${name} ${root.version()}" "Latchkey"`,
    heading('NAME'),
    `${text(name)} \\- ${text(summary)}`,
    heading('SYNOPSIS'),
    `.B ${text(name)}\n[\\fIoptions\\fR] \\fIcommand\\fR`,
    heading('DESCRIPTION'),
    text(root.description()),
    heading('OPTIONS'),
    ...optionsOf(root),
    heading('COMMANDS'),
    ...commandsBelow(root).flatMap((command) => describe(command)),
    ...listSection('EXIT STATUS', program.exitStatus),
    ...listSection('ENVIRONMENT', program.environment),
    ...listSection('FILES', program.files),
  ];
  return `${parts.join('\n')}\n`;
}

const heading = (title: string): string => `.SH ${title}`;

/** Text for people: a line must not begin like a request, nor a hyphen become another character. */
function text(plain: string): string {
  const escaped = plain
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/`([^`]*)`/g, '\\fB$1\\fR')
    .replaceAll(/[^\n -~]/gu, groffCharacter);
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}

/** @see groff_char(7) */
const groffCharacter = (character: string): string =>
  `\\[u${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}]`;

const entry = (term: string, meaning: string): string => `.TP\n\\fB${text(term)}\\fR\n${text(meaning)}`;

const listSection = (title: string, entries: Program['exitStatus']): string[] =>
  entries.length === 0
    ? []
    : [heading(title), ...entries.map(({ term, text: meaning }) => entry(term, meaning))];

const optionsOf = (command: Command): string[] =>
  command.options.map(({ flags, description }) => entry(flags, description));

/** All commands, each before its own subcommands. A command that only groups others has no page of its own. */
const commandsBelow = (command: Command): Command[] =>
  command.commands.flatMap((child) => [child, ...commandsBelow(child)]);

function describe(command: Command): string[] {
  const words = [command.name()];
  for (let above = command.parent; above?.parent; above = above.parent) words.unshift(above.name());
  const usage = command.usage().replaceAll('[options]', '').replaceAll('[command]', '').trim();
  return [
    entry([...words, usage].join(' ').trim(), sentence(command.description())),
    ...(command.options.length === 0 ? [] : ['.RS', ...optionsOf(command), '.RE']),
  ];
}

const sentence = (description: string): string =>
  `${description.charAt(0).toUpperCase()}${description.slice(1)}.`;
