import { escapeHtml } from '../../values/html.ts';
import type { Schema } from '../openapi.ts';
import type { Resolve } from './document.ts';
import { breakable, prose } from './markup.ts';

interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly schema: Schema;
}

/** The members of an object, without those that no value is valid for. */
const membersOf = ({ properties = {}, required = [] }: Schema): readonly Field[] =>
  Object.entries(properties)
    .filter(([, member]) => !member.not)
    .map(([name, schema]) => ({ name, required: required.includes(name), schema }));

/** The members of the object that a field holds: itself, an item of a list or a value of a map. */
function innerFieldsOf(schema: Schema, resolve: Resolve): readonly Field[] {
  const own = resolve(schema);
  const inner = own.items ?? (own.properties ? undefined : own.additionalProperties);
  if (inner) return innerFieldsOf(inner, resolve);
  if (own.anyOf) return own.anyOf.flatMap((one) => innerFieldsOf(one, resolve));
  return membersOf(own);
}

/** The alternatives of a body: several, or only itself. Each has an `id` that those of its fields start with. */
export function alternativesOf(schema: Schema, id: string, resolve: Resolve) {
  const own = resolve(schema);
  const all = own.anyOf?.map(resolve) ?? [own];
  return all.map((one, index) => ({
    title: own.anyOf && (one.title ?? 'Alternative'),
    id: index === 0 ? id : `${id}-${index + 1}`,
    fields: membersOf(one),
  }));
}

export interface ListOptions {
  readonly resolve: Resolve;
  /** The start of the ids of the fields. */
  readonly id: string;
  /** Whether to say of fields of a request which are required, or of a response which may be absent. */
  readonly of: 'request' | 'response';
}

/** Up to this many members of a member are shown without asking. */
const shownMembers = 2;

/** A list of fields; empty without any. The members of a field are in a list of their own, which opens. */
export function fieldList(fields: readonly Field[], options: ListOptions): string {
  if (fields.length === 0) return '';
  const open = fields.length <= shownMembers;
  return `<ul class="fields">${fields.map((field) => fieldItem(field, options, open)).join('')}</ul>`;
}

function fieldItem({ name, required, schema }: Field, options: ListOptions, open: boolean): string {
  const { resolve, of } = options;
  const own = resolve(schema);
  const id = `${options.id}.${name}`;
  const inner = innerFieldsOf(own, resolve);
  const parts = [
    `<div class="field"><code class="name">${breakable(name)}</code> <span class="type">${escapeHtml(typeOf(own, resolve))}</span>${presence(required, of)}</div>`,
    `<p>${[own.description ?? '', ...limitsOf(own)].map(prose).join(' ')}</p>`,
    valuesOf(own, resolve),
    inner.length === 0
      ? ''
      : `<details${open ? ' open' : ''}><summary>Members of <code>${escapeHtml(name)}</code></summary>${fieldList(inner, { ...options, id })}</details>`,
  ];
  return `<li id="${id}">${parts.join('')}</li>`;
}

function presence(required: boolean, of: ListOptions['of']): string {
  if (of === 'request') return required ? ' <span class="required">required</span>' : '';
  return required ? '' : ' <span class="optional">may be absent</span>';
}

const limitsOf = ({ maxLength, minimum, maximum, maxItems, default: preset }: Schema): string[] => [
  ...(maxLength === undefined ? [] : [`At most ${maxLength} characters.`]),
  ...(maxItems === undefined ? [] : [`At most ${maxItems} items.`]),
  ...(minimum === undefined || maximum === undefined ? [] : [`From ${minimum} to ${maximum}.`]),
  ...(preset === undefined ? [] : [`Default: \`${JSON.stringify(preset)}\`.`]),
];

/** The values that are possible, or else an example. A description names an only value itself. */
function valuesOf(schema: Schema, resolve: Resolve): string {
  if (schema.const !== undefined)
    return isNamed(schema) ? '' : `<p class="values">Always ${value(schema.const)}</p>`;
  const possible = enumOf(schema, resolve);
  if (possible) return `<p class="values">One of ${possible.map(value).join(' ')}</p>`;
  const [example] =
    schema.examples ?? schema.anyOf?.map(resolve).find(({ examples }) => examples)?.examples ?? [];
  return example === undefined ? '' : `<p class="values">Example: ${value(example)}</p>`;
}

const isNamed = ({ const: only, description = '' }: Schema): boolean => description.includes(`\`${only}\``);

const enumOf = (schema: Schema, resolve: Resolve): readonly unknown[] | undefined =>
  schema.enum ?? schema.anyOf?.map(resolve).find((one) => one.enum)?.enum;

const value = (shown: unknown): string =>
  `<code>${escapeHtml(typeof shown === 'string' ? shown : JSON.stringify(shown))}</code>`;

const formats: Readonly<Record<string, string>> = { 'date-time': 'timestamp', uri: 'URL' };

function typeOf(schema: Schema, resolve: Resolve): string {
  if (schema.const !== undefined) return typeof schema.const;
  if (schema.enum) return 'enum';
  if (schema.anyOf) return schema.anyOf.map((one) => typeOf(resolve(one), resolve)).join(' or ');
  if (schema.items) return `array of ${typeOf(resolve(schema.items), resolve)}s`;
  const types = [schema.type ?? 'any'].flat();
  return types
    .map((type) => (type === 'string' ? (formats[schema.format ?? ''] ?? type) : type))
    .join(' or ');
}
