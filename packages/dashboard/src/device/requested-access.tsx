import type { PendingDevice } from '@latchkey/contract/device';
import { emptyScopes } from '@latchkey/contract/empty-scopes';
import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import { Icon } from '../ui/icon.tsx';
import { scopeIcon } from '../ui/icons.ts';

const everythingText = 'Everything you can do';

type Access = Pick<PendingDevice, 'scopes' | 'resource' | 'resource_service'>;

/** What the device may do once it is approved: all of it, however long, because the user agrees to all of it. */
export function RequestedAccess({ access }: { access: Access }) {
  // Missing from the response of a node that runs an earlier release, which allows everything.
  const scopes = access.scopes ?? [{ name: '*', description: everythingText, service: null }];
  const allowed = scopes.filter(({ name }) => !emptyScopes.includes(name));
  return (
    <section>
      <h2 id="access-heading" class="small-heading">
        If you approve, this device can
      </h2>
      <ul id="requested-access" class="scopes" aria-labelledby="access-heading">
        {allowed.length === 0 ? <li>Nothing in your account</li> : null}
        {allowed.map(({ name, description, service }) => (
          <li key={name}>
            <Icon path={scopeIcon} />
            <span>
              <bdi>{escapeInvisible(description || `${name} (no longer offered)`)}</bdi>
              {service === null ? null : (
                <span class="hint">
                  {' '}
                  <bdi>{escapeInvisible(service)}</bdi>
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

/** Missing from the response of a node that runs an earlier release. */
function RequestedResource({ access: { resource = null, resource_service: service } }: { access: Access }) {
  if (resource === null) return null;
  return (
    <p id="requested-resource" class="quiet">
      Only with <strong>{service ? <bdi>{escapeInvisible(service)}</bdi> : 'one service'}</strong>, at{' '}
      <bdi>{escapeInvisible(resource)}</bdi>
    </p>
  );
}
