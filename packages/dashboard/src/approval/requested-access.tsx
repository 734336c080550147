import type { PendingDevice } from '@latchkey/contract/device';
import { emptyScopes } from '@latchkey/contract/empty-scopes';
import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import { scopeText } from '../scope-text.ts';
import { fill, fillParts, texts } from '../texts.ts';
import { Icon } from '../ui/icon.tsx';
import { scopeIcon } from '../ui/icons.ts';

export type Access = Pick<PendingDevice, 'scopes' | 'resource' | 'resource_service'>;

/** What is approved: all of it, however long, because the user agrees to all of it. */
export function RequestedAccess({ access, heading }: { access: Access; heading: string }) {
  const allowed = access.scopes.filter(({ name }) => !emptyScopes.includes(name));
  return (
    <section>
      <h2 id="access-heading" class="small-heading">
        {heading}
      </h2>
      <ul id="requested-access" class="scopes" aria-labelledby="access-heading">
        {allowed.length === 0 ? <li>{texts.common.nothing}</li> : null}
        {allowed.map((scope) => (
          <li key={scope.name}>
            <Icon path={scopeIcon} />
            <span>
              <bdi>
                {escapeInvisible(scopeText(scope) || fill(texts.device.notOffered, { scope: scope.name }))}
              </bdi>
              {scope.service === null ? null : (
                <span class="hint">
                  {' '}
                  <bdi>{escapeInvisible(scope.service)}</bdi>
                </span>
              )}
            </span>
          </li>
        ))}
      </ul>
      <RequestedResource access={access} />
    </section>
  );
}

function RequestedResource({ access: { resource, resource_service: service } }: { access: Access }) {
  if (resource === null) return null;
  return (
    <p id="requested-resource" class="quiet">
      {fillParts(texts.device.onlyWith, {
        service: <strong>{service ? <bdi>{escapeInvisible(service)}</bdi> : texts.device.oneService}</strong>,
        resource: <bdi>{escapeInvisible(resource)}</bdi>,
      })}
    </p>
  );
}
