import { escapeHtml } from '../../values/html.ts';
import type { Schema } from '../openapi.ts';
import { formType, jsonType, type Reference, type ReferenceOperation, resultsOf } from './document.ts';
import { bodyExamples, exampleRequest } from './examples.ts';
import { alternativesOf, fieldList, type ListOptions } from './fields.ts';
import { breakable, example, prose, tabs, verb } from './markup.ts';
import { curlSample, formSamples, isSame } from './samples.ts';
import { sdkSample } from './sdk-samples.ts';

/** The section of one operation: what it does and takes on one side, examples on the other. */
export function operationSection(operation: ReferenceOperation, reference: Reference): string {
  const { id, title, method, path } = operation;
  return `<section class="operation" id="${id}" aria-labelledby="${id}-title">
<div class="text">
<h3 id="${id}-title"><a href="#${id}">${escapeHtml(title)}</a></h3>
<p class="route">${verb(method)} <code>${breakable(path)}</code></p>
${words(operation)}
${request(operation, reference)}
${results(operation, reference)}
${errors(operation)}
</div>
<div class="examples">
${requestExamples(operation, reference)}
${responseExamples(operation, reference)}
</div>
</section>`;
}

function words({ summary, notes, access }: ReferenceOperation): string {
  return [
    `<p>${prose(summary)}.</p>`,
    notes === undefined ? '' : `<p>${prose(notes)}</p>`,
    access === undefined ? '' : `<p class="access"><strong>Access.</strong> ${prose(access)}</p>`,
  ].join('\n');
}

const places = [
  ['path', 'Path parameters'],
  ['query', 'Query parameters'],
  ['header', 'Request headers'],
] as const;

function request({ id, body, parameters = [] }: ReferenceOperation, { resolve }: Reference): string {
  const options = { resolve, of: 'request' } as const;
  const lists = places.map(([place, heading]) => {
    const fields = parameters.filter((parameter) => parameter.in === place);
    return withHeading(heading, fieldList(fields, { ...options, id: `${id}.${place}` }));
  });
  if (body === undefined) return lists.join('\n');
  const asJson = body.content[jsonType];
  const asForm = body.content[formType];
  return [
    ...lists,
    withHeading(
      body.required ? 'Body' : 'Body (optional)',
      bodyFields(asJson, { ...options, id: `${id}.body` }),
    ),
    isSame(asForm, asJson)
      ? '<p class="note">The body can also be form-encoded.</p>'
      : withHeading('Form-encoded body', bodyFields(asForm, { ...options, id: `${id}.form` })),
  ].join('\n');
}

/** The fields of a body, with a heading for each alternative. */
function bodyFields(schema: Schema | undefined, options: ListOptions): string {
  if (schema === undefined) return '';
  return alternativesOf(schema, options.id, options.resolve)
    .filter(({ fields }) => fields.length > 0)
    .map(({ title, id, fields }) => {
      const heading = title === undefined ? '' : `<h5>${escapeHtml(title)}</h5>`;
      return heading + fieldList(fields, { ...options, id });
    })
    .join('');
}

const withHeading = (heading: string, list: string): string => list && `<h4>${heading}</h4>${list}`;

/** Responses with the same body share a list of fields. */
function results(operation: ReferenceOperation, { resolve }: Reference): string {
  const { id } = operation;
  const all = resultsOf(operation);
  const shown = all.filter(({ content }, index) => {
    const schema = content[jsonType];
    return !all.slice(0, index).some((earlier) => isSame(schema, earlier.content[jsonType]));
  });
  const statuses = all.map(({ status, reason }) => `${status} ${reason}`).join(', ');
  const bodies = shown.map(({ content }) =>
    bodyFields(content[jsonType], { resolve, id: `${id}.response`, of: 'response' }),
  );
  return `<h4>Response</h4><p class="note">${escapeHtml(statuses)}${otherTypes(all)}</p>${bodies.join('')}`;
}

function otherTypes(all: ReturnType<typeof resultsOf>): string {
  const types = new Set(all.flatMap(({ content }) => Object.keys(content)));
  if (types.size === 0) return '. No body.';
  const others = [...types]
    .filter((type) => type !== jsonType)
    .map((type) => `<code>${escapeHtml(type)}</code>`);
  if (others.length === 0) return '';
  return `. ${types.has(jsonType) ? 'Also available as' : 'Media type'} ${others.join(', ')}.`;
}

function errors({ responses }: ReferenceOperation): string {
  const rows = Object.entries(responses).flatMap(([status, { errors: all = [] }]) =>
    all.map(
      ({ code, meaning }) =>
        `<tr><td>${status}</td><th scope="row"><a href="#error-${code}"><code>${breakable(code)}</code></a></th><td>${prose(meaning)}</td></tr>`,
    ),
  );
  return `<h4>Errors</h4><table class="errors"><tbody>${rows.join('')}</tbody></table>`;
}

/** The SDK has a function for every endpoint, and none for other documents. */
function requestExamples(operation: ReferenceOperation, reference: Reference): string {
  const { id, method, path } = operation;
  const caption = `${method.toUpperCase()} ${path}`;
  const request = exampleRequest(operation, reference);
  const sdk = sdkSample(id, request);
  const samples = [
    { title: 'curl', html: example(caption, curlSample(request), 'shell') },
    ...(sdk === undefined ? [] : [{ title: 'SDK', html: example(caption, sdk, 'script') }]),
  ];
  const forms = formSamples(operation, reference).map(({ title = 'Form', value }) => ({
    title,
    html: example(caption, String(value), 'shell'),
  }));
  return [
    `<h4>Request</h4>${tabs(`${id}-request`, 'Language of the example', samples)}`,
    ...(forms.length === 0 ? [] : [`<h4>As a form</h4>${tabs(`${id}-form`, 'Kind of request', forms)}`]),
  ].join('\n');
}

/** The body of the first response that has one, or the status of a response without a body. */
function responseExamples(operation: ReferenceOperation, { resolve }: Reference): string {
  const { id } = operation;
  const all = resultsOf(operation);
  const found = all.find(({ content }) => content[jsonType]) ?? all[0]!;
  const caption = `${found.status} ${found.reason}`;
  const schema = found.content[jsonType];
  if (schema === undefined)
    return Object.keys(found.content).length > 0
      ? ''
      : `<h4>Response</h4>${example(caption, 'No body', 'text')}`;
  const examples = bodyExamples(schema, resolve).map(({ title = 'Response', value }) => ({
    title,
    html: example(caption, JSON.stringify(value, null, 2), 'json'),
  }));
  return `<h4>Response</h4>${tabs(`${id}-response`, 'Kind of response', examples)}`;
}
