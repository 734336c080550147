// Every part of the design in every state, for tests and pictures. The service does not serve this page: it is not among
// the pages of build.ts. The fragment `#dialog` opens the dialog.

import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { Countdown } from '../../../packages/dashboard/src/ui/countdown.tsx';
import { Details } from '../../../packages/dashboard/src/ui/details.tsx';
import { Dialog } from '../../../packages/dashboard/src/ui/dialog.tsx';
import { EmailField, TextField, UserCodeField } from '../../../packages/dashboard/src/ui/field.tsx';
import { Heading } from '../../../packages/dashboard/src/ui/heading.tsx';
import { Icon } from '../../../packages/dashboard/src/ui/icon.tsx';
import * as icons from '../../../packages/dashboard/src/ui/icons.ts';
import { Placeholder } from '../../../packages/dashboard/src/ui/loading.tsx';
import { ErrorMessage, StatusMessage, Warning } from '../../../packages/dashboard/src/ui/messages.tsx';
import { mount } from '../../../packages/dashboard/src/ui/mount.tsx';
import { Question } from '../../../packages/dashboard/src/ui/question.tsx';
import { List, Row } from '../../../packages/dashboard/src/ui/row.tsx';
import { RelativeTime, Timestamp } from '../../../packages/dashboard/src/ui/timestamp.tsx';
import { Untrusted, UntrustedHint } from '../../../packages/dashboard/src/ui/untrusted.tsx';

const isDialogOpen = signal(location.hash === '#dialog');

const Part = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <section class="card">
    <div class="section-head">
      <h2>{title}</h2>
    </div>
    {children}
  </section>
);

const Type = () => (
  <Part title="Type">
    <h3>Heading of a part</h3>
    <p>
      Text with <strong>emphasis</strong>, <code>code</code> and <a href="#type">its words as a link</a>.
    </p>
    <p class="quiet">Quiet text beside it.</p>
    <dl>
      <dt>Label</dt>
      <dd>Value</dd>
      <dt>Missing</dt>
      <dd class="missing">Not set</dd>
    </dl>
  </Part>
);

const Buttons = () => (
  <Part title="Buttons">
    {[false, true].map((isDisabled) => (
      <p key={String(isDisabled)} class="row">
        <button type="button" class="primary" disabled={isDisabled}>
          Primary
        </button>
        <button type="button" disabled={isDisabled}>
          Secondary
        </button>
        <button type="button" class="danger" disabled={isDisabled}>
          Danger
        </button>
        <button type="button" class="plain" disabled={isDisabled}>
          Plain
        </button>
        <button type="button" disabled={isDisabled}>
          <Icon path={icons.keyIcon} />
          With an icon
        </button>
      </p>
    ))}
    <p>
      <a class="button" href="#buttons">
        Continue
      </a>
    </p>
  </Part>
);

const Fields = () => (
  <Part title="Fields">
    <EmailField id="empty-email" label="Email address" value={signal('')} error="" autoComplete="email" />
    <EmailField
      id="wrong-email"
      label="Email with an error"
      value={signal('nonsense')}
      error="That doesn't look like an email address."
      autoComplete="email"
    />
    <TextField
      id="name"
      label="With a hint"
      hint="So that you recognize it later."
      value={signal('Ada')}
      error=""
      maxLength={100}
    />
    <UserCodeField id="code" label="Code" value={signal('')} error="" />
    <fieldset>
      <legend>Options</legend>
      <label class="option">
        <input type="checkbox" checked />
        <span>Chosen</span>
      </label>
      <label class="option">
        <input type="checkbox" />
        <span>Not chosen</span>
      </label>
    </fieldset>
    <label for="choice">A choice</label>
    <select id="choice">
      <option>30 days</option>
    </select>
  </Part>
);

const Messages = () => (
  <Part title="Messages">
    <ErrorMessage text="Something went wrong on our side. Try again in a moment." />
    <StatusMessage text="You're signed out." />
    <Warning>
      <strong>Only approve if you started this sign-in yourself.</strong> Nothing else here asks for it.
    </Warning>
    <Question>Remove this? Programs that use it stop working at once.</Question>
  </Part>
);

const now = new Date().toISOString();

const Rows = () => (
  <Part title="Rows">
    <ul class="plain-list">
      <Row
        titleId="row-plain"
        icon={icons.browserIcon}
        title={
          <>
            Chrome on Linux <span class="badge current">This session</span>
          </>
        }
      >
        <p>
          Last used <RelativeTime at={now} />
        </p>
        <Details summary="Details">
          <p>
            <Timestamp at={now} />
          </p>
        </Details>
      </Row>
      <Row
        titleId="row-action"
        icon={icons.terminalIcon}
        title={<Untrusted text="workshop" />}
        action={<button type="button">End session</button>}
      >
        <p>
          <span class="badge">Only tickets</span> 127.0.0.1
        </p>
      </Row>
      <Row titleId="row-caution" icon={icons.suspiciousIcon} isCaution title="Session ended">
        <p>Its token was used twice.</p>
      </Row>
    </ul>
    <UntrustedHint />
  </Part>
);

const Nothing = () => (
  <>
    <Part title="Empty">
      <List
        id="no-keys"
        none={{
          icon: icons.keyIcon,
          text: 'No keys. With a key, a program such as a build can act as you without you signing in.',
        }}
      >
        {[]}
      </List>
    </Part>
    <Part title="Loading">
      <Placeholder entries={2} />
    </Part>
  </>
);

const tones = [
  ['success', icons.approvedIcon, 'Approved'],
  ['danger', icons.deniedIcon, 'Denied'],
  ['caution', icons.clockIcon, 'Expired'],
  ['waiting', icons.waitingIcon, 'Waiting'],
  ['neutral', icons.withdrawnIcon, 'Withdrawn'],
] as const;

/** The signs of `Outcome`, whose heading would be one of many here. */
const Outcomes = () => (
  <Part title="Outcomes">
    <div class="row">
      {tones.map(([tone, icon, name]) => (
        <div key={tone} class="outcome">
          <span class={`sign ${tone}`}>
            <Icon path={icon} />
          </span>
          <p>{name}</p>
        </div>
      ))}
    </div>
    <p class="code-box">
      <output class="big-code">BCDF-GHJK</output>
      <span class="quiet">
        Expires in <Countdown until={Date.now() + 572_000} />
      </span>
    </p>
  </Part>
);

const Icons = () => (
  <Part title="Icons">
    <p class="row">
      {Object.entries(icons).map(([name, path]) => (
        <Icon key={name} path={path} />
      ))}
    </p>
  </Part>
);

const Gallery = () => (
  <>
    <Heading>Design</Heading>
    <div class="cards">
      <Type />
      <Buttons />
      <Fields />
      <Messages />
      <Rows />
      <Nothing />
      <Outcomes />
      <Icons />
    </div>
    {isDialogOpen.value ? (
      <Dialog
        id="gallery-dialog"
        title="Delete account?"
        onClose={() => {
          isDialogOpen.value = false;
        }}
      >
        <Warning>Your profile, passkeys, sessions, and activity will be permanently deleted.</Warning>
        <div class="row">
          <button type="button" class="danger">
            Permanently delete account
          </button>
          <button type="button">Cancel</button>
        </div>
      </Dialog>
    ) : null}
  </>
);

mount(Gallery);
