import { escapeHtml } from '../../values/html.ts';
import type { Schema } from '../openapi.ts';
import {
  exampleBodies,
  jsonType,
  type Reference,
  type ReferenceOperation,
  requestExamples,
} from './examples.ts';
import { bodyFields, fieldList, type ListOptions } from './fields.ts';
import { breakable, example, paragraphs, prose, type Section, table } from './markup.ts';

/** What an operation does and takes on one side, examples on the other. */
export function operationSection(operation: ReferenceOperation, { server, resolve }: Reference): Section {
  const { method, path, summary, notes = [], access, body, parameters = [], responses } = operation;
  const sent = { resolve, of: 'request' } as const;
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
        sent,
      );
      return list && `<h4>${place} parameters</h4>${list}`;
    }),
    body && `<h4>Body${body.required ? '' : ' (optional)'}</h4>${bodies(Object.entries(body.content), sent)}`,
    `<h4>Response</h4><p class="hint">${escapeHtml(statuses.join(', '))}</p>`,
    bodies(content, { resolve, of: 'response' }),
    `<h4>Errors</h4>${table(errors)}`,
  ];
  const [, answer] = content.find(([type]) => type === jsonType) ?? [];
  const answers = exampleBodies(answer, resolve).map((one) =>
    example(statuses[0]!, JSON.stringify(one, null, 2)),
  );
  return {
    ...operation,
    text: text.join('\n'),
    examples: `<h4>Request</h4>${requestExamples(operation, server, resolve)}<h4>Response</h4>${
      answers.join('') || example(statuses[0]!, content[0]?.[0] ?? 'No body')
    }`,
  };
}

/** Bodies with the same fields share a list. */
function bodies(content: readonly (readonly [type: string, Schema])[], options: ListOptions): string {
  const lists = Map.groupBy(content, ([, schema]) => bodyFields(schema, options));
  return [...lists]
    .map(
      ([list, same]) => `<p class="hint">${[...new Set(same.map(([type]) => type))].join(', ')}</p>${list}`,
    )
    .join('');
}
