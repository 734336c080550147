import type { PendingDevice } from '@latchkey/contract/device';
import { emptyScopes } from '@latchkey/contract/scope-names';
import { escapeInvisible } from '@latchkey/contract/untrusted-text';
import type { ComponentChildren } from 'preact';
import { ConfirmDialog } from '../confirm/confirm.tsx';
import { switchAccountPath } from '../next.ts';
import { pageUser } from '../page-user.ts';
import { ScopeText, scopeText } from '../scope-text.tsx';
import { fill, fillParts, texts } from '../texts.ts';
import type { Busy } from '../ui/busy.ts';
import { Button, ErrorMessage, Heading, Icon } from '../ui/elements.tsx';
import { deniedIcon, scopeIcon } from '../ui/icons.ts';
import { HomeLink, Outcome } from '../ui/page.tsx';
import { ReviewedButton } from '../ui/reviewed-button.tsx';

/** Who is signed in, with a way to sign in with another account. @param here the path to come back to */
export const SignedInAs = ({ here }: { here: string }) => (
  <p class="quiet signed-in-as">
    <span>{fillParts(texts.common.signedInAs, { email: <bdi>{pageUser()?.email}</bdi> })}</span>
    <a href={switchAccountPath(here)}>{texts.common.otherAccount}</a>
  </p>
);

export const Denied = () => (
  <Outcome tone="danger" icon={deniedIcon} heading={texts.device.denied} takesFocus>
    <p id="status" role="status">
      {texts.device.deniedText}
    </p>
    <HomeLink />
  </Outcome>
);

interface ReviewProps {
  readonly question: ComponentChildren;
  /** Who asks, between the question and what is approved. */
  readonly children: ComponentChildren;
  readonly access: Access;
  readonly accessHeading: string;
  readonly busy: Busy;
  readonly canApprove?: boolean;
  /** Whether a passkey confirms the approval. */
  readonly isTouched: boolean;
  readonly decide: (decision: 'approve' | 'deny') => unknown;
  readonly here: string;
}

/** The question whether a device or a program may use the account, with all that the answer depends on. */
export function Review({ busy, canApprove = true, isTouched, decide, here, ...shown }: ReviewProps) {
  return (
    <>
      <Heading key="review" takesFocus>
        {shown.question}
      </Heading>
      {shown.children}
      <RequestedAccess access={shown.access} heading={shown.accessHeading} />
      <div class="always-seen">
        <ErrorMessage text={busy.error.value} />
        <div class="choice">
          {canApprove ? (
            <ReviewedButton id="approve" class="primary" busy={busy} onClick={() => decide('approve')}>
              {isTouched ? texts.device.approveByTouch : texts.device.approve}
            </ReviewedButton>
          ) : null}
          <Button id="deny" busy={busy} onClick={() => decide('deny')}>
            {texts.device.deny}
          </Button>
        </div>
      </div>
      <SignedInAs here={here} />
      <ConfirmDialog />
    </>
  );
}

type Access = Pick<PendingDevice, 'scopes' | 'resource' | 'resource_service'>;

/** What is approved: all of it, however long, because the user agrees to all of it. */
function RequestedAccess({ access, heading }: { access: Access; heading: string }) {
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
              <ScopeText
                scope={scope}
                text={scopeText(scope) || fill(texts.device.notOffered, { scope: scope.name })}
              />
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
