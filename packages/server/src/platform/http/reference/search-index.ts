import { endpointGroups } from '@latchkey/contract/endpoint-groups';
import {
  formType,
  groupPath,
  groups,
  jsonType,
  type Reference,
  type ReferenceOperation,
  type Resolve,
} from './document.ts';
import { alternativesOf, fieldsWithIds } from './fields.ts';
import { guideOf } from './guides.ts';
import { overviewTopics } from './overview-topics.ts';
import type { Topic } from './topics.ts';

/** What the search finds: an endpoint, a topic, or a field of an endpoint. The script of the pages reads it. */
export interface SearchEntry {
  readonly title: string;
  /** Where it belongs: the group of an endpoint, the page of a topic, the endpoint of a field. */
  readonly within: string;
  /** What else it is found by. */
  readonly text: string;
  readonly url: string;
}

/** Endpoints first, then topics, then fields. */
export function searchIndex({ operations, resolve, server }: Reference): readonly SearchEntry[] {
  return [
    ...operations.map(operationEntry),
    ...overviewTopics(server).map((topic) => topicEntry(topic, 'Overview', '/docs')),
    ...groups.flatMap((group) =>
      guideOf(group, server).map((topic) => topicEntry(topic, endpointGroups[group].title, groupPath(group))),
    ),
    ...operations.flatMap((operation) => [...fieldEntries(operation, resolve)]),
  ];
}

const topicEntry = ({ id, title }: Topic, within: string, path: string): SearchEntry => ({
  title,
  within,
  text: '',
  url: `${path}#${id}`,
});

const operationEntry = ({ id, title, group, method, path, summary }: ReferenceOperation): SearchEntry => ({
  title,
  within: endpointGroups[group].title,
  text: `${method} ${path} ${summary}`,
  url: `${groupPath(group)}#${id}`,
});

/** Each name once per endpoint: the fields of its request before those of its response. */
function* fieldEntries(operation: ReferenceOperation, resolve: Resolve): Generator<SearchEntry> {
  const { id, title, group, parameters, body, results } = operation;
  const bodies = [
    [`${id}.body`, body?.content[jsonType]?.schema],
    [`${id}.form`, body?.content[formType]?.schema],
    [`${id}.response`, results[0]?.content[jsonType]?.schema],
  ] as const;
  const lists = [
    ...parameters.map(({ in: place, name, schema }) => ({
      id: `${id}.${place}`,
      fields: [{ name, schema, required: true }],
    })),
    ...bodies.flatMap(([place, schema]) => (schema ? alternativesOf(schema, place, resolve) : [])),
  ];
  const seen = new Set<string>();
  for (const list of lists) {
    for (const { name, id: anchor, schema } of fieldsWithIds(list.fields, list.id, resolve)) {
      if (seen.has(name)) continue;
      seen.add(name);
      const text = resolve(schema).description ?? '';
      yield { title: name, within: title, text, url: `${groupPath(group)}#${anchor}` };
    }
  }
}
