import type { DescribedScope } from '@latchkey/contract/scopes';
import { texts } from './texts.ts';

const own: Readonly<Record<string, string>> = { ...texts.common.scopes, '*': texts.common.everything };

/** What a scope allows: of the service itself in the language of the page, of any other in the words of that service. */
export const scopeText = ({ name, description, service }: DescribedScope): string =>
  (service === null && Object.hasOwn(own, name) ? own[name] : undefined) ?? description;
