import { escapeHtml } from '../../values/html.ts';
import type { Schema } from '../openapi.ts';
import {
  exampleBodies,
  jsonType,
  type Reference,
  type ReferenceOperation,
  requestExamples,
} from './examples.ts';
import { breakable, example, paragraphs, prose, type Section, table } from './markup.ts';

/** What an operation does and takes on one side, examples on the other. */
export function operationSection(operation: ReferenceOperation, { server }: Reference): Section {
  const { method, path, summary, notes = [], access, body, parameters = [], responses } = operation;
  const all = Object.entries(responses);
  const results = all.filter(([status]) => Number(status) < 400);
  const content = results.flatMap(([, result]) => Object.entries(result.content ?? {}));
  const statuses = results.map(([status, { description }]) => `${status} ${description}`);
  const errors = all.flatMap(([status, { errors: listed = [] }]) =>
    listed.map(({ code, meaning }) => [status, `\`${code}\``, meaning]),
  );
  const text = [
    `<p><b>${method.toUpperCase()}</b> <code>${breakable(escapeHtml(path))}</code></p>`,
    paragraphs([`${summary}.`, notes].flat()),
    access && `<p class="hint"><strong>Access.</strong> ${prose(access)}</p>`,
    ...['Path', 'Query', 'Header'].map((place) => {
      const list = fieldList(
        parameters.filter((one) => one.in === place.toLowerCase()),
        'request',
      );
      return list && `<h4>${place} parameters</h4>${list}`;
    }),
    body &&
      `<h4>Body${body.required ? '' : ' (optional)'}</h4>${bodies(Object.entries(body.content), 'request')}`,
    `<h4>Response</h4><p class="hint">${escapeHtml(statuses.join(', '))}</p>`,
    bodies(content, 'response'),
    `<h4>Errors</h4>${table(errors)}`,
  ];
  const [, answer] = content.find(([type]) => type === jsonType) ?? [];
  const answers = exampleBodies(answer).map((one) => example(statuses[0]!, JSON.stringify(one, null, 2)));
  return {
    ...operation,
    text: text.join('\n'),
    examples: `<h4>Request</h4>${requestExamples(operation, server)}<h4>Response</h4>${
      answers.join('') || example(statuses[0]!, content[0]?.[0] ?? 'No body')
    }`,
  };
}

/** Bodies with the same fields share a list. */
function bodies(content: readonly (readonly [type: string, Schema])[], of: Message): string {
  const lists = Map.groupBy(content, ([, schema]) => bodyFields(schema, of));
  return [...lists]
    .map(
      ([list, same]) => `<p class="hint">${[...new Set(same.map(([type]) => type))].join(', ')}</p>${list}`,
    )
    .join('');
}

interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly schema: Schema;
}

/** Of the fields of a request it is said which are required, of those of a response which may be absent. */
type Message = 'request' | 'response';

/** The members of an object, without those that no value is valid for. */
const membersOf = ({ properties = {}, required = [] }: Schema): readonly Field[] =>
  Object.entries(properties)
    .filter(([, member]) => !member.not)
    .map(([name, schema]) => ({ name, required: required.includes(name), schema }));

/** The members of the object that a field holds: itself, an item of a list or a value of a map. */
function innerFieldsOf(schema: Schema): readonly Field[] {
  const inner = schema.items ?? (schema.properties ? undefined : schema.additionalProperties);
  if (inner) return innerFieldsOf(inner);
  return schema.anyOf ? schema.anyOf.flatMap(innerFieldsOf) : membersOf(schema);
}

/** The fields of a body, with a heading for each of several alternatives. */
function bodyFields(schema: Schema, of: Message): string {
  if (!schema.anyOf) return fieldList(membersOf(schema), of);
  return schema.anyOf
    .map((one) => {
      const { title = 'Alternative' } = one;
      const list = fieldList(membersOf(one), of);
      return list && `<h5>${escapeHtml(title)}</h5>${list}`;
    })
    .join('');
}

/** A list of fields; empty without any. The members of a field are in a list of their own, which opens. */
function fieldList(fields: readonly Field[], of: Message): string {
  const presence = of === 'request' ? ' · <em>required</em>' : ' · may be absent';
  const items = fields.map(({ name, required, schema }) => {
    const inner = fieldList(innerFieldsOf(schema), of);
    const members = `<details><summary>Members of <code>${escapeHtml(name)}</code></summary>${inner}</details>`;
    return `<li><code>${breakable(escapeHtml(name))}</code> <small>${typeOf(schema)}${required === (of === 'request') ? presence : ''}</small>
<p>${prose([schema.description ?? '', ...limitsOf(schema)].join(' '))}</p>${inner && members}</li>`;
  });
  return items.length === 0 ? '' : `<ul class="fields plain-list">${items.join('')}</ul>`;
}

/** What is valid, and the values that are possible, or else an example. */
function limitsOf(schema: Schema): readonly string[] {
  const { maxLength, minimum, maximum, maxItems, default: preset } = schema;
  const all = [schema, ...(schema.anyOf ?? [])];
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

function typeOf(schema: Schema): string {
  if (schema.const !== undefined) return typeof schema.const;
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.items) return `array of ${typeOf(schema.items)}s`;
  return [schema.format ?? schema.type ?? 'any'].flat().join(' or ');
}
