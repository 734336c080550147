import type { AuthorizationSource, PendingAuthorization } from '@latchkey/contract/authorize';
import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import { fill, texts } from '../texts.ts';
import { Fact } from '../ui/details.tsx';
import { Untrusted, UntrustedHint } from '../ui/untrusted.tsx';

/** How a sentence refers to a client. An external client is called by its host, because it chose its name itself. */
export const Program = ({ client: { name, host } }: Pick<AuthorizationSource, 'client'>) => (
  <bdi class="program-name">{escapeInvisible(host ?? name)}</bdi>
);

/** Who asks, and where the answer goes. */
export function ProgramDetails({ client, redirect_host, device_name }: PendingAuthorization) {
  const isExternal = client.kind === 'external';
  return (
    <>
      <dl id="program-details" class="facts">
        <Fact label={texts.common.program} id="client-name">
          {isExternal ? <Untrusted text={client.name} /> : <bdi>{escapeInvisible(client.name)}</bdi>}
        </Fact>
        <Fact label={texts.authorize.kind} id="client-kind">
          {fill(texts.authorize.kinds[client.kind])}
        </Fact>
        {client.host === null ? null : (
          <Fact label={texts.authorize.host} id="client-host">
            <strong>{client.host}</strong>
          </Fact>
        )}
        <Fact label={texts.authorize.goesBackTo} id="redirect-host">
          {redirect_host === null ? texts.authorize.thisComputer : <strong>{redirect_host}</strong>}
        </Fact>
        {client.kind === 'command_line' ? (
          <Fact label={texts.common.device} id="device-name">
            <Untrusted text={device_name} />
          </Fact>
        ) : null}
      </dl>
      {isExternal || device_name !== null ? <UntrustedHint /> : null}
    </>
  );
}
