import { escapeHtml } from '../../values/html.ts';
import type { Schema } from '../openapi.ts';
import type { Resolve } from './examples.ts';
import { breakable, prose } from './markup.ts';

interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly schema: Schema;
}

export interface ListOptions {
  readonly resolve: Resolve;
  /** Whether to say of fields of a request which are required, or of a response which may be absent. */
  readonly of: 'request' | 'response';
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

/** The fields of a body, with a heading for each of several alternatives. */
export function bodyFields(schema: Schema, options: ListOptions): string {
  const own = options.resolve(schema);
  if (!own.anyOf) return fieldList(membersOf(own), options);
  return own.anyOf
    .map((one) => {
      const { title = 'Alternative', ...alternative } = options.resolve(one);
      const list = fieldList(membersOf(alternative), options);
      return list && `<h5>${escapeHtml(title)}</h5>${list}`;
    })
    .join('');
}

/** A list of fields; empty without any. The members of a field are in a list of their own, which opens. */
export function fieldList(fields: readonly Field[], options: ListOptions): string {
  const { resolve, of } = options;
  const presence = of === 'request' ? ' · <em>required</em>' : ' · may be absent';
  const items = fields.map(({ name, required, schema }) => {
    const own = resolve(schema);
    const inner = fieldList(innerFieldsOf(own, resolve), options);
    const members = `<details><summary>Members of <code>${escapeHtml(name)}</code></summary>${inner}</details>`;
    return `<li><code>${breakable(escapeHtml(name))}</code> <small>${typeOf(own, resolve)}${required === (of === 'request') ? presence : ''}</small>
<p>${prose([own.description ?? '', ...limitsOf(own, resolve)].join(' '))}</p>${inner && members}</li>`;
  });
  return items.length === 0 ? '' : `<ul class="fields plain-list">${items.join('')}</ul>`;
}

/** What is valid, and the values that are possible, or else an example. */
function limitsOf(schema: Schema, resolve: Resolve): readonly string[] {
  const { maxLength, minimum, maximum, maxItems, default: preset } = schema;
  const all = [schema, ...(schema.anyOf ?? []).map(resolve)];
  const values = schema.const === undefined ? all.find((one) => one.enum)?.enum : [schema.const];
  const [example] = all.find((one) => one.examples)?.examples ?? [];
  return [
    ...(maxLength === undefined ? [] : [`At most ${maxLength} characters.`]),
    ...(maxItems === undefined ? [] : [`At most ${maxItems} items.`]),
    ...(minimum === undefined || maximum === undefined ? [] : [`From ${minimum} to ${maximum}.`]),
    ...(preset === undefined ? [] : [`Default: ${code(preset)}.`]),
    ...(values === undefined ? [] : [`Value: ${values.map(code).join(' or ')}.`]),
    ...(values !== undefined || example === undefined ? [] : [`Example: ${code(example)}`]),
  ];
}

const code = (value: unknown): string => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;

function typeOf(schema: Schema, resolve: Resolve): string {
  if (schema.const !== undefined) return typeof schema.const;
  if (schema.anyOf) return schema.anyOf.map((one) => typeOf(resolve(one), resolve)).join(' or ');
  if (schema.items) return `array of ${typeOf(resolve(schema.items), resolve)}s`;
  return [schema.format ?? schema.type ?? 'any'].flat().join(' or ');
}
