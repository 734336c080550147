import { escapeHtml } from '../values/html.ts';
import type { Schema } from './openapi.ts';
import css from './reference.css' with { type: 'text' };

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Content; readonly required?: boolean };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
}

/** Of an OpenAPI document what the page shows. */
export interface InterfaceDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const json = 'application/json';
const form = 'application/x-www-form-urlencoded';

export const referenceStyle = {
  path: '/docs/reference.css',
  text: css,
};

/** The interface as one page for people: no script, nothing from elsewhere, every operation of the document. */
export function referencePage(document: InterfaceDocument): string {
  const resolve = (schema: Schema): Schema =>
    schema.$ref ? (document.components.schemas[schema.$ref.split('/').at(-1)!] ?? {}) : schema;
  const server = document.servers[0]?.url ?? '';
  const operations = Object.entries(document.paths).flatMap(([path, byMethod]) =>
    Object.entries(byMethod)
      .filter(([method]) => method !== 'head')
      .map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const { title, version, description } = document.info;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${referenceStyle.path}">
</head>
<body>
<nav aria-label="Endpoints">
<p><a href="#top"><strong>${escapeHtml(title)}</strong></a> ${escapeHtml(version)}</p>
<ul>
${operations.map(({ method, path, operation }) => `<li><a href="#${operation.operationId}">${verb(method)} ${breakable(shortened(path))}</a></li>`).join('\n')}
</ul>
</nav>
<main id="top">
<h1>${escapeHtml(title)} API</h1>
<p>${escapeHtml(description)} For programs this page is <a href="/openapi.json">openapi.json</a>; standard OAuth
clients start from <a href="/.well-known/oauth-authorization-server">their metadata</a>.</p>
<p>The address is <code>${escapeHtml(server)}</code>. Bodies are JSON in UTF-8; unknown members are ignored. Times
are RFC 3339 in UTC, durations whole seconds. Every answer carries <code>X-Request-Id</code>. Every GET has its HEAD.</p>
<p>Every error has one shape, and its <code>error</code> never changes its meaning:</p>
<pre><code>{"error": "invalid_grant", "error_description": "for a developer", "request_id": "…"}</code></pre>
${operations.map(({ method, path, operation }) => section(method, path, operation, server, resolve)).join('\n')}
</main>
</body>
</html>
`;
}

type Resolve = (schema: Schema) => Schema;

const verb = (method: string): string => `<span class="verb ${method.toLowerCase()}">${method}</span>`;

/** Every path of the interface begins alike, which says nothing in a list. */
const shortened = (path: string): string => path.replace('/api/v1/auth', '');

/** A path that may break across lines at its slashes and underscores. */
const breakable = (path: string): string => escapeHtml(path).replace(/(?<=.)([/_])/g, '<wbr>$1');

function section(
  method: string,
  path: string,
  operation: Operation,
  server: string,
  resolve: Resolve,
): string {
  const { operationId, summary, description, requestBody, responses } = operation;
  const parameters = (operation.parameters ?? []).map(
    ({ name, in: place, required = false, schema }): Field => ({
      name,
      required,
      schema,
      note: `In the ${place}`,
    }),
  );
  const asForm = requestBody?.content[form]?.schema;
  const parts = [
    `<h2>${verb(method)} <a href="#${operationId}">${breakable(path)}</a></h2>`,
    `<p>${escapeHtml(summary)}.${description ? ` <span class="quiet">${escapeHtml(description)}</span>` : ''}</p>`,
    `<pre><code>${escapeHtml(curl(method, server + path, operation, resolve))}</code></pre>`,
    table('Parameters', parameters, resolve),
    ...bodyTables(
      requestBody?.required === false ? 'Body, may be left out' : 'Body',
      requestBody?.content[json]?.schema,
      resolve,
    ),
    ...(isSame(asForm, requestBody?.content[json]?.schema)
      ? ['<p class="quiet">The body may also come form-encoded.</p>']
      : bodyTables('Or as a form', asForm, resolve)),
    ...Object.entries(responses)
      .filter(([status]) => Number(status) < 400)
      .flatMap(([status, { description: what, content }]) =>
        answer(`Answer ${status}${what === 'Done' ? '' : `: ${what}`}`, content, resolve),
      ),
    errors(responses),
  ];
  return `<section id="${operationId}">\n${parts.filter(Boolean).join('\n')}\n</section>`;
}

const isSame = (a: Schema | undefined, b: Schema | undefined): boolean =>
  a !== undefined && JSON.stringify(a) === JSON.stringify(b);

function answer(heading: string, content: Content | undefined, resolve: Resolve): string[] {
  if (!content) return [`<h3>${heading}</h3>\n<p class="quiet">Without a body.</p>`];
  const others = Object.keys(content).filter((type) => type !== json);
  const tables = bodyTables(heading, content[json]?.schema, resolve);
  return [
    ...(tables.length > 0 ? tables : [`<h3>${heading}</h3>`]),
    ...others.map(
      (type) =>
        `<p class="quiet">${tables.length > 0 ? 'Also as' : 'As'} <code>${escapeHtml(type)}</code>.</p>`,
    ),
  ];
}

function errors(responses: Operation['responses']): string {
  const found = Object.entries(responses).filter(([status]) => Number(status) >= 400);
  if (found.length === 0) return '';
  const items = found.map(([status, { description }]) => {
    const codes = description.split(', ').map((code) => `<code>${escapeHtml(code)}</code>`);
    return `<li>${status} ${codes.join(' ')}</li>`;
  });
  return `<h3>Errors</h3>\n<ul class="errors">${items.join('')}</ul>`;
}

interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly schema: Schema;
  readonly note?: string;
}

/** One table for each shape that a body may have. */
function bodyTables(heading: string, schema: Schema | undefined, resolve: Resolve): string[] {
  if (!schema) return [];
  const resolved = resolve(schema);
  const shapes = resolved.anyOf ?? [resolved];
  return shapes.map((shape, index) =>
    table(index === 0 ? heading : `${heading}, or`, fieldsOf(resolve(shape), resolve), resolve),
  );
}

/** The members of an object by their paths; of a list, those of its entries. */
function fieldsOf(schema: Schema, resolve: Resolve, prefix = ''): Field[] {
  return Object.entries(schema.properties ?? {})
    .filter(([, member]) => !member.not)
    .flatMap(([name, member]) => {
      const own = resolve(member);
      const inner = objectIn(own.items ? resolve(own.items) : own, resolve);
      const path = `${prefix}${name}${own.items ? '[]' : ''}`;
      const field = { name: path, required: schema.required?.includes(name) ?? false, schema: own };
      return [field, ...fieldsOf(inner, resolve, `${path}.`)];
    });
}

/** The object of a member that may also be null. */
const objectIn = (schema: Schema, resolve: Resolve): Schema =>
  schema.anyOf?.map(resolve).find(({ properties }) => properties) ?? schema;

function table(heading: string, fields: readonly Field[], resolve: Resolve): string {
  if (fields.length === 0) return '';
  const rows = fields.map(({ name, required, schema, note }) => {
    const own = resolve(schema);
    const words = [
      note,
      schema.description ?? own.description,
      own.maxLength && `At most ${own.maxLength} characters.`,
    ];
    return `<tr><th scope="row"><code>${breakable(name)}</code>${required ? '' : ' <span class="quiet">optional</span>'}</th><td>${escapeHtml(typeOf(own, resolve))}</td><td>${escapeHtml(words.filter(Boolean).join('. ').replaceAll('..', '.'))}</td></tr>`;
  });
  return `<h3>${heading}</h3>\n<table><tbody>${rows.join('\n')}</tbody></table>`;
}

const formats: Readonly<Record<string, string>> = { 'date-time': 'time', uri: 'address' };

function typeOf(schema: Schema, resolve: Resolve): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.anyOf) return schema.anyOf.map((one) => typeOf(resolve(one), resolve)).join(' | ');
  if (schema.items) return `list of ${typeOf(resolve(schema.items), resolve)}`;
  const types = [schema.type ?? 'anything'].flat();
  return types.map((type) => (type === 'string' ? (formats[schema.format ?? ''] ?? type) : type)).join(' | ');
}

/** A call that works once the words in capitals are replaced. */
function curl(method: string, url: string, operation: Operation, resolve: Resolve): string {
  const schemes = operation.security.flatMap((scheme) => Object.keys(scheme));
  const body = operation.requestBody?.content[json]?.schema;
  const parts = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}'${url.replace(/\{(\w+)\}/g, (_, name: string) => name.toUpperCase())}'`,
    ...(schemes.includes('bearer') ? [`-H 'Authorization: Bearer ACCESS_TOKEN'`] : []),
    ...(schemes.includes('serviceKey') ? [`-u 'ID:SECRET'`] : []),
    ...(body && operation.requestBody?.required !== false
      ? [`-H 'Content-Type: application/json'`, `-d '${JSON.stringify(exampleOf(body, resolve, 'VALUE'))}'`]
      : []),
  ];
  return parts.join(' \\\n  ');
}

/** A value of a schema: its own example, else its required members, with their names in capitals for texts. */
function exampleOf(schema: Schema, resolve: Resolve, name: string): unknown {
  const own = resolve(schema);
  if (own.examples?.length) return own.examples[0];
  if (own.const !== undefined) return own.const;
  if (own.enum) return own.enum[0];
  if (own.anyOf) return exampleOf(own.anyOf[0]!, resolve, name);
  if (own.properties) {
    const members = Object.entries(own.properties).filter(([, member]) => !member.not);
    const needed = members.filter(([member]) => own.required?.includes(member));
    const shown = needed.length > 0 ? needed : members.slice(0, 1);
    return Object.fromEntries(
      shown.map(([member, inner]) => [member, exampleOf(inner, resolve, member.toUpperCase())]),
    );
  }
  return own.items ? [exampleOf(own.items, resolve, name)] : name;
}
