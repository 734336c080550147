/**
 * What emails say, in English: the reference for all other languages. `{product}` and other names in braces are filled in
 * when an email is written.
 */
export const en = {
  help: 'Help',
  unknown: 'unknown',
  /** A fact in plain text. */
  labelled: '{label}: {value}',
  /** Text of others, which has not been verified. */
  quoted: '"{text}"',
  quotesExplained: 'Text in quotes comes from the program or person and has not been verified.',
  signIn: {
    subject: 'Sign in to {product}',
    openLink: 'Open this link to sign in to {product}:',
    enterCode: 'Or enter this code where you started signing in:',
    once: 'Use either one, once, within {duration}. Never share the link or the code with anyone.',
    preheader: 'Your link and code work once, within {duration}.',
    notYou: "If you didn't request this email, you can ignore it.",
    requested: 'Requested',
    browser: 'Browser',
    browserOn: '{browser} on {system}',
    ipAddress: 'IP address',
  },
  emailChange: {
    subject: 'Confirm your new address for {product}',
    openLink:
      "Someone asked to use this email address for their {product} account. If it was you, open this link and confirm. In a browser where you aren't signed in, you also need your current address:",
    link: 'Use this address',
    expires:
      'The link works once and expires on {time}. After you confirm, sign-in emails go to this address.',
    notYou: "If it wasn't you, ignore this email. Nothing changes unless someone uses the link.",
  },
  emailTaken: {
    subject: 'Someone tried to use your email address',
    what: 'Someone who is signed in to another {product} account asked to use this email address for it.',
    unchanged: 'You have an account with this address, or had one until recently, so nothing has changed.',
    wasYou:
      "If it was you, sign in to the account that has this address and change it there first. If it wasn't, you don't need to do anything.",
  },
  emailRestored: {
    subject: 'This address was removed from an account at {product}',
    what: "The owner of the previous address told us that they didn't change it to this one. Their {product} account has its previous address again, and all its sessions have ended.",
    owner: 'If this is your account, sign in with the previous address. You can change it again afterwards.',
  },
  emailReturned: {
    subject: 'Your {product} account no longer uses this address',
    what: 'Your {product} account has gone back to an earlier address. Sign-in emails and notices no longer come to this address.',
    owner: 'If this is your account, sign in with the earlier address, and change it again if you want to.',
  },
  accountDeleted: {
    subject: 'Your {product} account has been deleted',
    what: 'Your {product} account has been deleted, with its sessions, passkeys, security log and organization memberships. It cannot be restored.',
    next: 'You can sign up again with this address; that creates a new account. If you did not delete the account, contact the administrator of this service and change the password of your email account.',
  },
  disowned: {
    subject: 'What was undone in your {product} account',
    what: "Someone used the “This wasn't me” link of a security notice about your {product} account, sent on {time}.",
    nothing: 'There was nothing left to undo: the session had already ended and had added nothing.',
    undone: 'This was undone:',
    sessions: 'Browser sessions ended',
    devices: 'Devices signed out',
    device: 'Device',
    passkey: 'Passkey removed',
    key: 'Key removed',
    address: 'Address restored',
    othersContinue: 'Your other sessions are not affected.',
    allEnded:
      'Because the address was restored, every session of the account has ended. Every passkey added since the change and any passkey used for the reported sign-in have been removed.',
    review: "Sign in and review your account: remove passkeys and sign out devices that you don't recognize.",
    notYou:
      "If this wasn't you, someone else can read your email: change the password of your email account.",
  },
  notice: {
    newAddress: 'New address',
    when: 'When',
    ipAddress: 'IP address',
    device: 'Device',
    program: 'Program',
    key: 'Key',
    passkey: 'Passkey',
    userAgent: 'User agent',
    wasYou: 'If this was you, you can ignore this email.',
    notYou: "If this wasn't you, open this link and press the button on the page. {undo}",
    link: "This wasn't me",
    expires: 'Opening the link alone changes nothing. The link expires on {time}.',
  },
  digest: {
    what: 'You received many notices of this kind about your {product} account within an hour. This email lists the rest, newest first.',
    wasYou: 'If all of this was you, you can ignore this email.',
    notYou:
      "If something wasn't you, open the link below it and press the button on the page. {undo} Opening a link alone changes nothing. The first of these links expires on {time}.",
    more: {
      one: '{count} more notice is only in the security log on your account page.',
      other: '{count} more notices are only in the security log on your account page.',
    },
  },
  /** What using the link of a notice does. `{session}` is the first of them. */
  undo: {
    session:
      'It ends that session and undoes everything it added: passkeys, keys, approved devices, a changed email address, and any sessions that came from those. If that session was started with a passkey, the passkey is removed, too, and every session started with it ends.',
    device: '{session} The page then offers to end the session that approved the device, too.',
    app: '{session} The page then offers to end the session that approved the application, too.',
    passkey: '{session} It does not restore the removed passkey; you can add that again.',
    key: '{session} It does not restore the removed key; you can create a new one.',
    address:
      'It restores this address and ends every session of the account. It also removes every passkey added since the change and any passkey used for the sign-in that made it.',
    theft:
      'It undoes everything that session added: passkeys, keys, approved devices, a changed email address, and any sessions that came from those. If that session was started with a passkey, the passkey is removed, too, and every session started with it ends.',
  },
  notices: {
    new_device: {
      subject: 'A new device signed in to your {product} account',
      digestSubject: 'More new devices signed in to your {product} account',
      what: 'A new device signed in to your {product} account. Someone who was signed in to your account approved it.',
    },
    new_browser: {
      subject: 'New sign-in to your {product} account',
      digestSubject: 'More new sign-ins to your {product} account',
      what: 'Someone signed in to your {product} account from a browser and network that have not been used together before.',
    },
    new_app: {
      subject: 'An application was signed in to your {product} account',
      digestSubject: 'More applications were signed in to your {product} account',
      what: 'An application was signed in to your {product} account. Someone who was signed in to your account approved it, or an administrator allows it for everyone.',
    },
    passkey_added: {
      subject: 'A passkey was added to your {product} account',
      digestSubject: 'More passkeys were added to your {product} account',
      what: 'A passkey was added to your {product} account. Anyone who has it can sign in to your account.',
    },
    passkey_removed: {
      subject: 'A passkey was removed from your {product} account',
      digestSubject: 'More passkeys were removed from your {product} account',
      what: 'A passkey was removed from your {product} account. You can no longer sign in with it.',
    },
    key_added: {
      subject: 'A key was created for your {product} account',
      digestSubject: 'More keys were created for your {product} account',
      what: 'A key was created for your {product} account. A program that has it can act as you, within what the key allows, until the key expires.',
    },
    key_removed: {
      subject: 'A key of your {product} account was removed',
      digestSubject: 'More keys of your {product} account were removed',
      what: 'A key of your {product} account was removed. Programs that use it can no longer act as you.',
    },
    email_changed: {
      subject: 'The email address of your {product} account was changed',
      digestSubject: 'The email address of your {product} account was changed again',
      what: 'The email address of your {product} account was changed. Sign-in links and security notices no longer come to this address.',
    },
    theft_stopped: {
      subject: 'A session of your {product} account was ended because its token was used twice',
      digestSubject:
        'More sessions of your {product} account were ended because their tokens were used twice',
      what: 'A token of a session of your {product} account was used a second time, which can mean that someone copied it. We ended that session; your other sessions are not affected. Sign in again where you need to.',
    },
    refresh_repeated_elsewhere: {
      subject: 'A session of your {product} account was used from two places',
      digestSubject: 'More sessions of your {product} account were used from two places',
      what: 'A program refreshed a session of your {product} account, and the same request came again from another network or another program. This happens when a device changes networks at that moment, or when someone copied the credentials of that session. The details below are those of the second request.',
    },
  },
};
