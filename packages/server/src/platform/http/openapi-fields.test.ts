// Every field of the API document says what it is and shows a valid value.

import { beforeAll, expect, test } from 'bun:test';
import { Ajv2020 } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { openApp } from '../../../../../tests/support/app.ts';
import { shared } from '../../../../../tests/support/shared.ts';
import type { Schema } from './openapi.ts';

interface Field {
  readonly place: string;
  readonly schema: Schema;
}

const app = shared(() => openApp('sqlite'));
// biome-ignore lint/suspicious/noExplicitAny: a test looks into any document
let document: any;
let fields: Field[];
let ajv: Ajv2020;

beforeAll(async () => {
  document = (await app.ask('GET', 'openapi.json')).body;
  fields = [...fieldsOfDocument()];
  ajv = new Ajv2020({ strict: true, strictTypes: false });
  addFormats(ajv, ['date-time', 'uri']);
  ajv.addSchema({ $id: 'document', components: document.components }).addVocabulary(['components']);
});

function* fieldsOfDocument(): Generator<Field> {
  for (const [name, schema] of Object.entries<Schema>(document.components.schemas))
    yield* membersOf(schema, name);
  for (const byMethod of Object.values<object>(document.paths)) {
    // biome-ignore lint/suspicious/noExplicitAny: a test looks into any document
    for (const { operationId, parameters = [], requestBody, responses } of Object.values<any>(byMethod)) {
      for (const { name, schema } of parameters) yield { place: `${operationId} ${name}`, schema };
      // biome-ignore lint/suspicious/noExplicitAny: a test looks into any document
      for (const { content = {} } of [requestBody ?? {}, ...Object.values<any>(responses)])
        for (const { schema } of Object.values<{ schema: Schema }>(content))
          if (!schema.allOf) yield* membersOf(schema, operationId);
    }
  }
}

/** The members of an object at any depth, without those that no value is valid for. */
function* membersOf(schema: Schema, place: string): Generator<Field> {
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    if (member.not) continue;
    yield { place: `${place}.${name}`, schema: member };
    yield* membersOf(member, `${place}.${name}`);
  }
  for (const inner of [...(schema.anyOf ?? []), schema.items, schema.additionalProperties])
    if (inner) yield* membersOf(inner, place);
}

/** A reference with its target. Members beside it take precedence. */
const resolved = (schema: Schema): Schema =>
  schema.$ref ? { ...document.components.schemas[schema.$ref.split('/').at(-1)!], ...schema } : schema;

/** A value that the field shows, or can be shown by its own members. */
function hasExample(schema: Schema): boolean {
  const { examples, const: constant, properties, items, anyOf } = resolved(schema);
  if (examples !== undefined || constant !== undefined || properties !== undefined) return true;
  return (items !== undefined && hasExample(items)) || (anyOf?.some(hasExample) ?? false);
}

test('every parameter and every member of a body has a description', () => {
  expect(fields.length).toBeGreaterThan(300);
  const missing = fields.filter(({ schema }) => !resolved(schema).description);
  expect(missing.map(({ place }) => place)).toEqual([]);
});

test('every parameter and every member of a body has an example', () => {
  const missing = fields.filter(({ schema }) => !hasExample(schema));
  expect(missing.map(({ place }) => place)).toEqual([]);
});

test('only members that are refused have an empty list of examples', () => {
  const empty = fields.filter(({ schema }) => resolved(schema).examples?.length === 0);
  expect(empty.length).toBeGreaterThan(0);
  for (const { place, schema } of empty)
    expect([place, schema.description]).toEqual([place, 'Not supported: refused.']);
});

test('every example is valid', () => {
  const schemas = [...fields, ...Object.values<Schema>(document.components.schemas).map(asField)];
  for (const { place, schema } of schemas) {
    const validate = ajv.compile(inDocument(schema));
    for (const example of schema.examples ?? [])
      expect([place, example, validate(example)]).toEqual([place, example, true]);
  }
});

const asField = (schema: Schema): Field => ({ place: schema.description ?? '', schema });

const inDocument = (schema: Schema): Schema =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"document#/components'));

test('every operation belongs to one group, and each group says what it is for', () => {
  const groups: string[] = document.tags.map(({ name }: { name: string }) => name);
  const used = Object.values<Record<string, { tags: string[] }>>(document.paths).flatMap((byMethod) =>
    Object.values(byMethod).map(({ tags }) => tags),
  );
  for (const tags of used) expect(tags).toHaveLength(1);
  expect(new Set(used.flat())).toEqual(new Set(groups));
  for (const { name, description } of document.tags)
    expect([name, description]).toEqual([name, expect.stringMatching(/\.$/)]);
});
