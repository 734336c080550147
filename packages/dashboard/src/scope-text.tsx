import type { DescribedScope } from '@latchkey/contract/scopes';
import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import { texts } from './texts.ts';

const own: Readonly<Record<string, string>> = { ...texts.common.scopes, '*': texts.common.everything };

/** What a scope allows: of the service itself in the language of the page, of any other in the words of that service. */
export const scopeText = ({ name, description, service }: DescribedScope): string =>
  (service === null && Object.hasOwn(own, name) ? own[name] : undefined) ?? description;

/** What a scope allows, and the service that declared it. */
export const ScopeText = ({ scope, text = scopeText(scope) }: { scope: DescribedScope; text?: string }) => (
  <>
    <bdi>{escapeInvisible(text)}</bdi>
    {scope.service === null ? null : (
      <span class="hint">
        {' '}
        <bdi>{escapeInvisible(scope.service)}</bdi>
      </span>
    )}
  </>
);
