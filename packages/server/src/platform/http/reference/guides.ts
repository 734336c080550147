import type { EndpointGroup } from '@latchkey/contract/endpoint-groups';
import { runsGuide } from './runs-guide.ts';
import type { Topic } from './topics.ts';

const guides: Partial<Record<EndpointGroup, (server: string) => readonly Topic[]>> = { runs: runsGuide };

/** What the page of a group has besides endpoints. */
export const guideOf = (group: EndpointGroup, server: string): readonly Topic[] =>
  guides[group]?.(server) ?? [];
