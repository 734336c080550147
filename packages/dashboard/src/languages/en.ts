/**
 * What the pages say, in English: the reference for all other languages. What is in braces, such as `{product}`, is
 * filled in by the page. The account page has a file of its own beside this one.
 */
export const en = {
  /** Written into the HTML. */
  frame: {
    help: 'Help',
    needsScript: 'This page needs JavaScript.',
    loadError: "This page couldn't load completely. Try reloading it.",
    notFound: {
      title: 'Page not found',
      text: "There's no page at this address. Check the URL for typos, or go to your account.",
    },
  },
  common: {
    busy: 'One moment…',
    /** Two sentences, one after the other. */
    sentences: '{first} {second}',
    forDevelopers: 'For developers',
    toAccount: 'Go to your account',
    loading: 'Loading…',
    tryAgain: 'Try again',
    continue: 'Continue',
    cancel: 'Cancel',
    stay: 'Stay on this page',
    unanswerable: "This request can't be answered",
    showMore: 'Show more',
    signIn: 'Sign in',
    signOut: 'Sign out',
    signedIn: 'Signed in.',
    signedOut: "You're signed out",
    signedInAs: 'Signed in as {email}',
    unknown: 'Unknown',
    quotesExplained: "Text in quotes is self-reported and hasn't been verified.",
    browserOn: '{browser} on {system}',
    ipAddress: 'IP address',
    userAgent: 'User agent',
    program: 'Program',
    browser: 'Browser',
    device: 'Device',
    justNow: 'just now',
    inAMoment: 'in a moment',
    emailAddress: 'Email address',
    enterEmailAddress: 'Enter your email address.',
    emailCode: 'Code from the email',
    enterEmailCode: 'Enter the code from the email.',
    newEmail: 'Send a new email',
    otherEmail: 'Use a different email address',
    otherAccount: 'Use a different account',
    everything: 'Everything you can do',
    nothing: 'Nothing in your account',
    /** The service's own scopes. Other services have their own sentences. */
    scopes: {
      profile: 'See your name, picture, language and time zone',
      email: 'See your email address',
      organizations: 'See which organizations you belong to, and your role in each',
      identity: 'Prove to other systems that it acts for you',
    },
  },
  errors: {
    unreachable: "Couldn't reach {product}. Check your connection and try again.",
    unavailable: "{product} isn't available right now.",
    tooMany: 'Too many attempts.',
    signedOut: "You're signed out. Sign in again to continue.",
    notConfirmed: 'Nothing was changed. Confirm your identity to make this change.',
    somebodyElse:
      'Nothing was changed, because this browser is now signed in to a different account. Reload the page to continue.',
    disabled: 'This account has been disabled. Contact the administrator to have it enabled again.',
    noSignUp: "There's no account for this email, and new accounts can't be created here.",
    wrongUrl: "This page was opened at a URL that {product} doesn't accept. Open it at the right URL.",
    cookiesOff:
      'Your browser is blocking cookies, which are needed to sign in. Allow cookies for this site, then reload the page.',
    unexpected: 'Something went wrong on our side. Try again in a moment.',
    tryAgainIn: 'Try again in {duration}.',
    tryAgainAt: 'Try again in {duration}, at {time}.',
    tryAgainAfter: 'Try again after {time}.',
    tooManyEmails: "Too many emails requested, so we can't send another one yet. Earlier emails still work.",
    notAnAddress: "That doesn't look like an email address. Use the format ada@example.com.",
    notACode: "That isn't a valid code. Codes are eight letters, like BCDF-GHJK.",
    notAnEmailCode: "That isn't a valid code. Codes from emails are eight digits, like 1234-5678.",
    deviceCode:
      "That's the code of your device. First enter the eight digits from the email. You can approve the device once you're signed in.",
    wrongEmailCode:
      "That code didn't work. Check that it's from the latest email. If it is, it may have expired: send a new email.",
    passkeys: {
      unsupported: "This browser doesn't support passkeys.",
      noAuthenticator:
        'This device has no screen lock, fingerprint, or face recognition set up for passkeys. Try a phone, a security key, or a password manager.',
      cancelled: 'The passkey request was cancelled or timed out. Try again.',
      failed: "Your browser couldn't use a passkey here. Try again, or use another browser.",
      alreadyThere: 'This device already has a passkey for this account. You can sign in with it.',
    },
    passkeySignIn: {
      noAuthenticator:
        "There's no passkey you can use here on this device. Use your phone or a security key, or use email instead.",
      refused: "That passkey didn't work. Try again, or use email instead.",
      unknown: 'That passkey is no longer registered. Use another one, or use email instead.',
    },
  },
  login: {
    noPassword: 'No password needed.',
    deviceWaiting: 'A device is waiting with this code. Sign in to review its request.',
    programWaiting: 'A program is waiting for you to sign in.',
    or: 'or',
    withPasskey: 'Sign in with a passkey',
    emailLink: 'Email me a link',
    alreadySent:
      'We already sent an email to {email}. You can open its link here, or request a new email to enter a code.',
    checkEmail: 'Check your email',
    sent: 'We sent an email to {email}. Open the link in it, or enter the code here. Both expire in {time}.',
    sentAgain: 'We sent a new email. Use the code from the latest one.',
    expired: 'The email we sent to {email} has expired. Its link and its code no longer work.',
    openWebmail: 'Open {webmail}',
    signedIn: "You're signed in",
    signedInAs: "You're signed in as {email}.",
    signedInElsewhere: 'You signed in as {email} in another tab. Close this one, or continue here.',
    signedOut: "You're signed out.",
    signedOutEverywhere: "You're signed out everywhere, including on your devices.",
    deleted: 'Your account has been deleted.',
  },
  magicLink: {
    requestedHere: 'You requested this link in this browser.',
    signInAs: 'Sign in as {email}',
    where: 'Where do you want to sign in?',
    here: 'In this browser',
    hereText: 'Enter the email address that the link was sent to.',
    there: 'Where you requested it',
    thereText:
      'Go back to that page and enter the code from the same email there. You can then close this page.',
    wrongAddress: 'This link was not sent to {email}. Check the address, or request a new link.',
    newLink: 'Request a new link',
    dead: 'This link no longer works',
    deadText:
      'It has expired, it has been used, or you signed in another way since. Each link works only once.',
    used: "You've already used this link",
    usedText: 'It signed you in to this browser.',
  },
  /** Pages behind a link in an email that ask one question. */
  emailLink: {
    incomplete: 'This link is incomplete',
    incompleteText:
      'Part of the link is missing. Open it from the email again, or copy the whole link. Each link works only once.',
    unchanged: 'Nothing was changed',
    declined:
      'You can close this page. If you change your mind, the link in the email works until it expires.',
  },
  verifyEmail: {
    heading: 'Confirm your new email',
    ownerText:
      "The email of your {product} account will change from {old} to {new}. You'll use the new one to sign in.",
    anyoneText:
      "Only continue if you requested this change. To confirm that it's your account, enter its current email address, or open this link in a browser where you're signed in.",
    currentEmail: 'Current email address',
    decline: "Don't change",
    confirm: 'Change email',
    done: 'Email changed',
    doneText:
      'From now on, sign-in emails go to {email}. We notified your previous address. The change can be undone from there for {duration}.',
    conflict: 'Another {product} account uses this email, so nothing was changed.',
    ownerRefused:
      "This link no longer works. It has been used, has expired, or was replaced by a newer one, or you've been signed out. Your account page shows your current email.",
    anyoneRefused:
      "That didn't work. Check that you entered the account's current email. If you did, the link has been used, has expired, or was replaced by a newer one, or the session that requested it has ended. A link stops working after 5 wrong attempts.",
  },
  notMe: {
    heading: 'Was this you?',
    text: "If it wasn't, we'll end the session that the email was about and undo everything it added: passkeys, keys, approved devices, an email change, and the sessions that came from them. If the session was started with a passkey, we'll remove the passkey, too, and end every session started with it. Your other sessions stay active, unless your email has to be restored: then all of them end.",
    decline: 'This was me',
    confirm: "This wasn't me",
    done: 'Thanks for letting us know',
    refused: 'This link has expired or is incomplete. Sign in and check your account.',
    conflict:
      "Another account now uses your previous email, so it couldn't be restored and nothing was changed. Contact the administrator.",
    ended: {
      new_device: 'The device has been signed out.',
      new_app: 'The application has been signed out.',
      session: 'The session has ended, and everything it added has been removed.',
      passkey_removed: "The removed passkey can't be restored. You can add it again from your account.",
      key_removed: "The removed key can't be restored. You can create a new one from your account.",
      theft_stopped: 'The session had already ended. Everything it added has been removed.',
    },
    othersEnded: 'All your other sessions have ended too.',
    undone: 'What was undone',
    nothingUndone: 'Nothing was left to undo. The session had already ended and left nothing behind.',
    restored: 'Your email is {email} again',
    browsers: { one: '{count} browser session ended', other: '{count} browser sessions ended' },
    devices: { one: '{count} device signed out', other: '{count} devices signed out' },
    passkeys: { one: '{count} passkey removed', other: '{count} passkeys removed' },
    keys: { one: '{count} key removed', other: '{count} keys removed' },
    named: '{what}: {names}',
    approver: 'Who approved the device?',
    approverText:
      'It was approved in a browser that was signed in to your account. That session is still active:',
    signedIn: 'Signed in',
    approverReopen: "If that wasn't you either, open the link in the email again to end this session too.",
    approverQuestion: "If that wasn't you either, end this session and remove everything it added.",
    endApprover: 'End this session too',
    approverEnded:
      'The session that approved the device has ended too, and everything it added has been removed.',
    next: 'What to do next',
    changePassword:
      'Change the password of your email account if someone else might know it. Anyone who can read your email can sign in as you.',
    review:
      "Review {account}. Remove passkeys and end sessions you don't recognize. If in doubt, sign out everywhere.",
    yourAccount: 'your account',
    neverApprove: 'Never approve or enter a code that someone else sent you.',
  },
  device: {
    heading: 'Device sign-in',
    code: 'Code from your device',
    enterCode: 'Enter the code shown on your device.',
    unknownCode:
      "No device is waiting with this code. If you just approved or denied it, you're all set. Otherwise, check the code on your device. If it matches, start again there.",
    noLongerOffered:
      'A service no longer offers something that the device asked for. Start again on your device.',
    codeExpired: 'This code has expired. Start again on your device.',
    approvalInDoubt:
      'This code is no longer waiting for approval. Check your device: it may already be signed in, or the sign-in was cancelled there.',
    sessions: 'View your sessions',
    question: 'Let this device sign in as you?',
    compare: 'Check that this code matches the one on your device:',
    expiresIn: 'Expires in {time}',
    warning: 'Only approve if you started this sign-in yourself, just now.',
    warningText: 'If someone sent you a code or a link, approving would sign them in as you.',
    otherNetwork:
      "The request comes from a different network: expect that only if the device isn't with you, such as a remote server.",
    approve: 'Approve',
    deny: 'Deny',
    network: 'Network',
    sameNetwork: 'Same as yours',
    differentNetwork: 'Different from yours',
    details: 'Details',
    requested: 'Requested',
    access: 'If you approve, this device can',
    notOffered: '{scope} (no longer offered)',
    onlyWith: 'Only with {service}, at {resource}',
    oneService: 'one service',
    approved: 'Approved',
    withdrawn: 'Approval withdrawn',
    byMistake: 'Approved by mistake?',
    withdraw: 'Withdraw approval',
    confirm: 'Enter this code on your device. It is shown only once.',
    confirmNever:
      'Type it only on the device in front of you. Never tell it to anyone: a person who asks you for it wants to get into your account.',
    confirmImpossible:
      "This device is in a different network and can't ask for a confirmation code. You can only approve it from its own network.",
    skipEmail: 'Skip the email next time: {addPasskey}.',
    addPasskey: 'add a passkey',
    denied: 'Denied',
    deniedText: 'You denied this request. Nothing was signed in.',
    status: {
      waiting: 'Waiting for your device to finish signing in…',
      deviceSignedIn: 'Your device is signed in. You can close this window.',
      sessionEnded: 'Your device signed in, but has since been signed out.',
      withdrawn: "Your device isn't signed in.",
      cancelled: "The sign-in was cancelled on your device. The device isn't signed in.",
      expired: "Your device didn't finish signing in before the code expired. Start again on your device.",
      unknown:
        "This page can't tell whether your device signed in. Check your device: if it isn't signed in, start again there.",
    },
  },
  /** The page of an authorization request. */
  authorize: {
    heading: 'Sign in to a program',
    question: 'Let {program} use your {product} account?',
    kind: 'Kind',
    kinds: {
      command_line: 'Command line',
      service: 'Registered application',
      external: 'External program',
    },
    host: 'Host',
    goesBackTo: 'Returns to',
    thisComputer: 'A program on this computer',
    warningText: 'If someone sent you a link to this page, deny the request.',
    loopbackText: 'Any program on this computer could claim to be {program}.',
    externalText: '{host} has not been verified.',
    access: 'If you approve, this program can',
    approvedText: 'Go back to the program. If it is still waiting, start again there.',
    unknownText:
      "{product} doesn't know the program that sent you here, or the address for its response. Nothing was sent. Start again in the program.",
    refused: "This request can't be approved",
    refusedText: '{host} requested something that is not allowed. Go back to continue there.',
    goBack: 'Go back to {host}',
    goBackToProgram: 'Go back to the program',
  },
  /** The page that an application sends people to, to sign out. */
  signOut: {
    question: 'Sign out of {product}?',
    text: "You'll be signed out in this browser, and of the application that sent you here.",
    stay: 'Stay signed in',
    doneText: 'You can close this window.',
    refusedText:
      "{product} doesn't know the application that sent you here, or the address to return to. You haven't been signed out.",
  },
  /** The dialogs that ask for a recent sign-in, and that say that somebody else is signed in. */
  confirm: {
    title: "Confirm it's you",
    text: "It's been a while since you signed in. To continue, sign in again as {email}. You won't leave this page.",
    usePasskey: 'Use a passkey',
    wrongPasskey: "That passkey doesn't belong to {email}. Choose another one, or use email instead.",
    emailCode: 'Email me a code',
    sent: 'We emailed a code to {email}. It expires in {duration}.',
    confirm: 'Confirm',
    otherUser: "You're signed in to a different account",
    otherUserText:
      "This browser is now signed in as {email}, but this page still shows the account of {shown}. Your last change wasn't made.",
    reload: 'Reload page',
  },
};
