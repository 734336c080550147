import { everything, ownScopes } from '@latchkey/contract/scopes';
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

/** The part of an OpenAPI document that the page shows. */
export interface ReferenceDocument {
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

/** Renders the API reference: one page with every operation of the document, without scripts or external resources. */
export function referencePage(document: ReferenceDocument): string {
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
${operations.map(({ method, path, operation }) => `<li><a href="#${operation.operationId}">${verb(method)} ${breakable(withoutPrefix(path))}</a></li>`).join('\n')}
</ul>
</nav>
<main id="top">
<h1>${escapeHtml(title)} API</h1>
<p>${escapeHtml(description)} This page is also available as an <a href="/openapi.json">OpenAPI document</a>. Standard
OAuth clients can use the <a href="/.well-known/oauth-authorization-server">authorization server metadata</a>.</p>
<p>The base URL is <code>${escapeHtml(server)}</code>. Request and response bodies are JSON in UTF-8; unknown members
are ignored. Timestamps are RFC 3339 in UTC; durations are in whole seconds. Every response has an
<code>X-Request-Id</code> header. Every GET endpoint also supports HEAD.</p>
<p>Every token has a scope: a list of what it allows. <code>${everything}</code> allows everything the user may do. These
scopes allow less; services declare others, which the metadata lists. A token can also be bound to a resource: then only
the service of that resource accepts it.</p>
${scopeTable}
<p>All errors have the same format. The <code>error</code> code is stable:</p>
<pre><code>{"error": "invalid_grant", "error_description": "A message for developers", "request_id": "…"}</code></pre>
${operations.map(({ method, path, operation }) => section(method, path, operation, server, resolve)).join('\n')}
</main>
</body>
</html>
`;
}

const scopeTable = `<table id="scopes"><tbody>${Object.entries(ownScopes)
  .map(
    ([name, sentence]) =>
      `<tr><th scope="row"><code>${name}</code></th><td>${escapeHtml(sentence || 'Accepted for standard clients, allows nothing')}</td></tr>`,
  )
  .join('\n')}</tbody></table>`;

type Resolve = (schema: Schema) => Schema;

const verb = (method: string): string => `<span class="verb ${method.toLowerCase()}">${method}</span>`;

/** The navigation omits the prefix that most paths share. */
const withoutPrefix = (path: string): string => path.replace('/api/v1/auth', '');

/** A path that can wrap at its slashes and underscores. */
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
      note: place === 'header' ? 'Header' : place === 'query' ? 'Query parameter' : 'Path parameter',
    }),
  );
  const asForm = requestBody?.content[form]?.schema;
  const parts = [
    `<h2>${verb(method)} <a href="#${operationId}">${breakable(path)}</a></h2>`,
    `<p>${escapeHtml(summary)}.${description ? ` <span class="muted">${escapeHtml(description)}</span>` : ''}</p>`,
    `<pre><code>${escapeHtml(curl(method, server + path, operation, resolve))}</code></pre>`,
    table('Parameters', parameters, resolve),
    ...bodyTables(
      requestBody?.required === false ? 'Body (optional)' : 'Body',
      requestBody?.content[json]?.schema,
      resolve,
    ),
    ...(isSame(asForm, requestBody?.content[json]?.schema)
      ? ['<p class="muted">The body can also be form-encoded.</p>']
      : bodyTables('Form body', asForm, resolve)),
    ...Object.entries(responses)
      .filter(([status]) => Number(status) < 400)
      .flatMap(([status, { description: reason, content }]) =>
        responseTables(`${status} ${reason}`, content, resolve),
      ),
    errors(responses),
  ];
  return `<section id="${operationId}">\n${parts.filter(Boolean).join('\n')}\n</section>`;
}

const isSame = (a: Schema | undefined, b: Schema | undefined): boolean =>
  a !== undefined && JSON.stringify(a) === JSON.stringify(b);

function responseTables(heading: string, content: Content | undefined, resolve: Resolve): string[] {
  if (!content) return [`<h3>${heading}</h3>\n<p class="muted">No body.</p>`];
  const others = Object.keys(content).filter((type) => type !== json);
  const tables = bodyTables(heading, content[json]?.schema, resolve);
  return [
    ...(tables.length > 0 ? tables : [`<h3>${heading}</h3>`]),
    ...others.map(
      (type) =>
        `<p class="muted">${tables.length > 0 ? 'Also available as' : 'Media type'} <code>${escapeHtml(type)}</code>.</p>`,
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

/** One table for each alternative of a body. */
function bodyTables(heading: string, schema: Schema | undefined, resolve: Resolve): string[] {
  if (!schema) return [];
  const resolved = resolve(schema);
  const alternatives = resolved.anyOf ?? [resolved];
  return alternatives.map((alternative, index) =>
    table(
      index === 0 ? heading : `${heading} (alternative)`,
      fieldsOf(resolve(alternative), resolve),
      resolve,
    ),
  );
}

/** The members of an object, of the items of an array, or of the values of a map (`*`), by their paths. */
function fieldsOf(schema: Schema, resolve: Resolve, prefix = ''): Field[] {
  return Object.entries(schema.properties ?? {})
    .filter(([, member]) => !member.not)
    .flatMap(([name, member]) => {
      const own = resolve(member);
      const items = own.items ?? own.anyOf?.map(resolve).find((one) => one.items)?.items;
      const path = `${prefix}${name}${items ? '[]' : ''}`;
      const values = own.properties ? undefined : own.additionalProperties;
      const inner = objectIn(resolve(items ?? values ?? own), resolve);
      const field = { name: path, required: schema.required?.includes(name) ?? false, schema: own };
      return [field, ...fieldsOf(inner, resolve, values ? `${path}.*.` : `${path}.`)];
    });
}

/** The object of a member that may also be null. */
const objectIn = (schema: Schema, resolve: Resolve): Schema =>
  schema.anyOf?.map(resolve).find(({ properties }) => properties) ?? schema;

function table(heading: string, fields: readonly Field[], resolve: Resolve): string {
  if (fields.length === 0) return '';
  const rows = fields.map(({ name, required, schema, note }) => {
    const own = resolve(schema);
    const notes = [
      note,
      schema.description ?? own.description,
      own.maxLength && `Maximum ${own.maxLength} characters.`,
    ];
    return `<tr><th scope="row"><code>${breakable(name)}</code>${required ? '' : ' <span class="muted">optional</span>'}</th><td>${escapeHtml(typeOf(own, resolve))}</td><td>${escapeHtml(notes.filter(Boolean).join('. ').replaceAll('..', '.'))}</td></tr>`;
  });
  return `<h3>${heading}</h3>\n<table><tbody>${rows.join('\n')}</tbody></table>`;
}

const formats: Readonly<Record<string, string>> = { 'date-time': 'timestamp', uri: 'URL' };

function typeOf(schema: Schema, resolve: Resolve): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.anyOf) return schema.anyOf.map((one) => typeOf(resolve(one), resolve)).join(' | ');
  if (schema.items) return `array of ${typeOf(resolve(schema.items), resolve)}`;
  const types = [schema.type ?? 'any'].flat();
  return types.map((type) => (type === 'string' ? (formats[schema.format ?? ''] ?? type) : type)).join(' | ');
}

/** An example call; the words in capitals are placeholders. */
function curl(method: string, url: string, operation: Operation, resolve: Resolve): string {
  // The first alternative: others are for some requests only.
  const schemes = Object.keys(operation.security[0] ?? {});
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

/** An example value: the schema's own, or else its required members, with their names in capitals as placeholders. */
function exampleOf(schema: Schema, resolve: Resolve, name: string): unknown {
  const own = resolve(schema);
  if (own.examples?.length) return own.examples[0];
  if (own.const !== undefined) return own.const;
  if (own.enum) return own.enum[0];
  if (own.anyOf) return exampleOf(own.anyOf[0]!, resolve, name);
  if (own.properties) {
    const members = Object.entries(own.properties).filter(([, member]) => !member.not);
    const required = members.filter(([member]) => own.required?.includes(member));
    const shown = required.length > 0 ? required : members.slice(0, 1);
    return Object.fromEntries(
      shown.map(([member, inner]) => [member, exampleOf(inner, resolve, member.toUpperCase())]),
    );
  }
  return own.items ? [exampleOf(own.items, resolve, name)] : name;
}
