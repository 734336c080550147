import type { AuthorizationSource, PendingAuthorization } from '@latchkey/contract/authorize';
import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import { texts } from '../texts.ts';
import { Untrusted, UntrustedHint } from '../ui/untrusted.tsx';

/** How a sentence refers to a client. An external client is called by its host, because it chose its name itself. */
export const Program = ({ client: { name, host } }: Pick<AuthorizationSource, 'client'>) => (
  <bdi class="program-name">{escapeInvisible(host ?? name)}</bdi>
);

/** Who asks, and where the answer goes. */
export function ProgramDetails({
  pending: { client, redirect_host, device_name },
}: {
  pending: PendingAuthorization;
}) {
  const isExternal = client.kind === 'external';
  return (
    <>
      <dl id="program-details" class="facts">
        <dt>{texts.common.program}</dt>
        <dd id="client-name">
          {isExternal ? <Untrusted text={client.name} /> : <bdi>{escapeInvisible(client.name)}</bdi>}
        </dd>
        <dt>{texts.authorize.kind}</dt>
        <dd id="client-kind">{texts.authorize.kinds[client.kind]}</dd>
        {client.host === null ? null : (
          <>
            <dt>{texts.authorize.host}</dt>
            <dd id="client-host">
              <strong>{client.host}</strong>
            </dd>
          </>
        )}
        <dt>{texts.authorize.goesBackTo}</dt>
        <dd id="redirect-host">
          {redirect_host === null ? texts.authorize.thisComputer : <strong>{redirect_host}</strong>}
        </dd>
        {client.kind === 'command_line' ? (
          <>
            <dt>{texts.common.device}</dt>
            <dd id="device-name">
              <Untrusted text={device_name} />
            </dd>
          </>
        ) : null}
      </dl>
      {isExternal || device_name !== null ? <UntrustedHint /> : null}
    </>
  );
}
