import { endpointGroups } from '@latchkey/contract/endpoint-groups';
import { endpoints } from '@latchkey/contract/endpoints';
import { escapeHtml } from '../../values/html.ts';
import { referenceAssets } from '../pages.ts';
import type { Reference, ReferenceOperation } from './examples.ts';
import { example, paragraphs, type Section, sectionHtml } from './markup.ts';
import { operationSection } from './operation.ts';
import { topics } from './topics.ts';

interface Group extends Section {
  readonly sections: readonly Section[];
}

/** The API reference, as one page that the browser can search: what holds for every endpoint, then each group. */
export function referencePage(reference: Reference): string {
  const title = `${reference.title} API`;
  const name = escapeHtml(title);
  const groups = [conventions(reference), ...groupsOf(reference)];
  const navigation = groups.map((group) =>
    link(group, `<ul class="plain-list">${group.sections.map((one) => link(one)).join('')}</ul>`),
  );
  const content = groups.flatMap((group) => [
    sectionHtml(group, 2),
    ...group.sections.map((one) => sectionHtml(one, 3)),
  ]);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${name}</title>
<link rel="icon" href="{{icon}}">
${referenceAssets.styles.map((style) => `<link rel="stylesheet" href="/assets/${style}">`).join('\n')}
<script type="module" src="/assets/${referenceAssets.script}"></script>
</head>
<body class="reference">
<header class="row"><button type="button" popovertarget="contents">Menu</button><a href="/docs">{{logo}} ${name}</a></header>
<nav id="contents" popover aria-label="Reference"><ul class="plain-list">${navigation.join('\n')}</ul></nav>
<main>
${sectionHtml(introduction(reference, title), 1)}
${content.join('\n')}
</main>
</body>
</html>
`;
}

const link = ({ id, title }: Section, below = ''): string =>
  `<li><a href="#${id}">${escapeHtml(title)}</a>${below}</li>`;

const introduction = ({ server, version }: Reference, title: string): Section => ({
  id: 'introduction',
  title,
  text: `<p>Sign-in for a coding-session platform: device codes for programs, emailed links and passkeys for people, and tokens that services can rely on.</p>
<p>Everything here is also an <a href="/openapi.json">OpenAPI document</a>. Standard OAuth clients can configure themselves from the <a href="/.well-known/oauth-authorization-server">authorization server metadata</a>. This is version ${version}.</p>`,
  examples: example('Base URL', server),
});

const conventions = ({ server }: Reference): Group => ({
  id: 'conventions',
  title: 'Conventions',
  text: paragraphs(['What holds for every endpoint.']),
  examples: '',
  sections: topics(server),
});

/** In the order of the contract, then what is not an endpoint. */
const order = Object.keys(endpoints);
const rankOf = ({ id }: ReferenceOperation): number => (id in endpoints ? order.indexOf(id) : order.length);

const groupsOf = (reference: Reference): Group[] =>
  Object.entries(endpointGroups).map(([id, { title, description }]) => {
    const operations = reference.operations
      .filter(({ group }) => group === id)
      .sort((a, b) => rankOf(a) - rankOf(b));
    const routes = operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    return {
      id,
      title,
      text: paragraphs([description]),
      examples: example('Endpoints', routes.join('\n')),
      sections: operations.map((operation) => operationSection(operation, reference)),
    };
  });
