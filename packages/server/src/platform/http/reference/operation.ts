import { escapeHtml } from '../../values/html.ts';
import { type DescribedApi, type DocumentOptions, mapValues, type Schema } from '../openapi.ts';
import type { Operation } from '../operations.ts';

/** What an operation does and takes on one side, examples on the other. */
export function operationSection(operation: ReferenceOperation, { server }: Reference): Section {
  const { method, path, title, summary, notes = [], access, body, parameters = [], responses } = operation;
  const all = Object.entries(responses);
  const results = all.filter(([status]) => Number(status) < 400);
  const content = results.flatMap(([, result]) => Object.entries(result.content ?? {}));
  const statuses = results.map(([status, { description }]) => `${status} ${description}`);
  const errors = all.flatMap(([status, { errors: listed = [] }]) =>
    listed.map(({ code, meaning }) => [status, `\`${code}\``, meaning]),
  );
  const text = [
    `<p><b>${method.toUpperCase()}</b> <code>${breakable(escapeHtml(path))}</code></p>`,
    paragraphs([summary === title ? [] : `${summary}.`, notes].flat()),
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

const jsonType = 'application/json';

export type ReferenceOperation = Operation<Schema>;

export interface Reference extends DocumentOptions {
  readonly operations: readonly ReferenceOperation[];
}

/** Replaces each reference to a shared schema with the schema. Members beside a reference take precedence. */
export function referenceOf({ operations, schemas }: DescribedApi, options: DocumentOptions): Reference {
  const inline = <Value>(value: Value): Value => {
    if (Array.isArray(value)) return value.map(inline) as Value;
    if (typeof value !== 'object' || value === null) return value;
    const { $ref, ...own } = value as Schema;
    const shared = $ref === undefined ? {} : inline(schemas[$ref.split('/').at(-1)!]!);
    return { ...shared, ...mapValues(own, inline) } as Value;
  };
  return { ...options, operations: inline(operations) };
}

/** The request with curl: with the first example of the JSON body, and each example of another form. */
function requestExamples(operation: ReferenceOperation, server: string): string {
  const { method, path, body, parameters = [], security } = operation;
  const verb = method.toUpperCase();
  const filledPath = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const { schema } = parameters.find((parameter) => parameter.name === name)!;
    return encodeURIComponent(String(exampleOf(schema)));
  });
  const curl = (title: string, options: readonly string[]): string => {
    const start = `curl ${method === 'get' ? '' : `-X ${verb} `}'${server}${filledPath}'`;
    return example(title, [start, ...options].join(' \\\n  '));
  };
  const { [jsonType]: json, 'application/x-www-form-urlencoded': form } = body?.content ?? {};
  const forms = JSON.stringify(form) === JSON.stringify(json) ? [] : exampleBodies(form);
  return [
    curl(`${verb} ${path}`, [
      ...(security[0]?.bearer ? ['-H "Authorization: Bearer $ACCESS_TOKEN"'] : []),
      ...(security[0]?.serviceKey ? [serviceCredential] : []),
      ...jsonOptions(exampleBodies(json)[0]),
    ]),
    ...forms.map((value) =>
      curl(
        `Form: ${String(value['grant_type'] ?? path)
          .split(':')
          .at(-1)}`,
        [
          ...(value['grant_type'] === 'client_credentials' ? [serviceCredential] : []),
          ...Object.entries(value).map(([name, text]) => `--data-urlencode '${name}=${text}'`),
        ],
      ),
    ),
  ].join('');
}

const serviceCredential = '-u "$SERVICE_KEY"';

function jsonOptions(value: Body = {}): readonly string[] {
  if (Object.keys(value).length === 0) return [];
  const json = JSON.stringify(value, null, 2).replaceAll('\n', '\n  ').replaceAll("'", "'\\''");
  return [`-H 'Content-Type: application/json'`, `-d '${json}'`];
}

type Body = Readonly<Record<string, unknown>>;

/** The examples of a body: its own, or one for each of its alternatives. */
const exampleBodies = (schema: Schema | undefined): readonly Body[] =>
  (schema?.examples ?? (schema?.anyOf ?? (schema ? [schema] : [])).map(exampleOf)) as Body[];

/** The schema's own example, or one made of the examples of its required members. */
function exampleOf(schema: Schema): unknown {
  const { examples, anyOf, items, properties = {}, required = [] } = schema;
  if (examples) return examples[0];
  if (schema.const !== undefined) return schema.const;
  if (anyOf) return exampleOf(anyOf[0]!);
  if (items) return [exampleOf(items)];
  return Object.fromEntries(required.map((name) => [name, exampleOf(properties[name]!)]));
}

/** Converts text to HTML, with text in backticks as code. Names in code can wrap. */
const prose = (text: string): string =>
  escapeHtml(text).replace(
    /`([^`]+)`/g,
    (_, code: string) => `<code>${/^\w+$/.test(code) ? breakable(code) : code}</code>`,
  );

export const paragraphs = (texts: readonly string[]): string =>
  texts.map((text) => `<p>${prose(text)}</p>`).join('\n');

/** HTML that can wrap at slashes, dots and underscores. */
const breakable = (html: string): string => html.replace(/(?<=.)([/_.])/g, '<wbr>$1');

export function table(rows: readonly (readonly string[])[]): string {
  const items = rows.map((cells) => `<tr>${cells.map((cell) => `<td>${prose(cell)}</td>`).join('')}</tr>`);
  return items.length === 0 ? '' : `<table>${items.join('')}</table>`;
}

const strings = /("(?:[^"\\]|\\.)*":?|'[^']*')/;

/** A captioned code block with its strings in color. The script of the page adds a button that copies it. */
export function example(caption: string, code: string): string {
  const parts = code.split(strings).map((part, index) => {
    const isString = index % 2 === 1 && !part.endsWith(':');
    return isString ? `<span>${escapeHtml(part)}</span>` : escapeHtml(part);
  });
  return `<figure><figcaption>${escapeHtml(caption)}</figcaption><pre tabindex="0"><code>${parts.join('')}</code></pre></figure>`;
}

export interface Section {
  readonly id: string;
  readonly title: string;
  /** The text column, as HTML. */
  readonly text: string;
  /** The examples column, as HTML. */
  readonly examples: string;
}

/** @param level of its heading */
export function sectionHtml({ id, title, text, examples }: Section, level: number): string {
  return `<section id="${id}" aria-labelledby="${id}-title">
<div class="text"><h${level} id="${id}-title"><a href="#${id}">${escapeHtml(title)}</a></h${level}>
${text}</div>
<div class="examples">${examples}</div>
</section>`;
}
