import type { Texts } from './type.ts';

export const de: Texts = {
  frame: {
    help: 'Hilfe',
    needsScript: 'Diese Seite benötigt JavaScript.',
    loadError: 'Diese Seite konnte nicht vollständig geladen werden. Laden Sie sie neu.',
    notFound: {
      title: 'Seite nicht gefunden',
      text: 'Unter dieser Adresse gibt es keine Seite. Prüfen Sie die URL auf Tippfehler oder gehen Sie zu Ihrem Konto.',
    },
  },
  common: {
    busy: 'Einen Moment …',
    sentences: '{first} {second}',
    forDevelopers: 'Für die Entwicklung',
    toAccount: 'Zu Ihrem Konto',
    loading: 'Wird geladen …',
    tryAgain: 'Erneut versuchen',
    continue: 'Weiter',
    cancel: 'Abbrechen',
    stay: 'Auf dieser Seite bleiben',
    unanswerable: 'Diese Anfrage kann nicht beantwortet werden',
    showMore: 'Mehr anzeigen',
    signIn: 'Anmelden',
    signOut: 'Abmelden',
    signedIn: 'Angemeldet.',
    signedOut: 'Sie sind abgemeldet',
    signedInAs: 'Angemeldet als {email}',
    unknown: 'Unbekannt',
    quotesExplained: 'Text in Anführungszeichen ist eine ungeprüfte Angabe des Programms.',
    browserOn: '{browser} unter {system}',
    ipAddress: 'IP-Adresse',
    userAgent: 'User-Agent',
    program: 'Programm',
    browser: 'Browser',
    device: 'Gerät',
    justNow: 'gerade eben',
    inAMoment: 'gleich',
    emailAddress: 'E‑Mail-Adresse',
    enterEmailAddress: 'Geben Sie Ihre E‑Mail-Adresse ein.',
    emailCode: 'Code aus der E‑Mail',
    enterEmailCode: 'Geben Sie den Code aus der E‑Mail ein.',
    newEmail: 'Neue E‑Mail senden',
    otherEmail: 'Andere E‑Mail-Adresse verwenden',
    otherAccount: 'Anderes Konto verwenden',
    everything: 'Alles, was Sie tun können',
    nothing: 'Nichts in Ihrem Konto',
    scopes: {
      profile: 'Ihren Namen, Ihr Bild, Ihre Sprache und Ihre Zeitzone sehen',
      email: 'Ihre E‑Mail-Adresse sehen',
      organizations: 'Sehen, zu welchen Organisationen Sie gehören und welche Rolle Sie dort haben',
      identity: 'Sich gegenüber anderen Systemen als in Ihrem Auftrag handelnd ausweisen',
    },
  },
  errors: {
    unreachable: '{product} ist nicht erreichbar. Prüfen Sie Ihre Verbindung und versuchen Sie es erneut.',
    unavailable: '{product} ist derzeit nicht verfügbar.',
    tooMany: 'Zu viele Versuche.',
    signedOut: 'Sie sind abgemeldet. Melden Sie sich wieder an, um fortzufahren.',
    notConfirmed: 'Es wurde nichts geändert. Bestätigen Sie Ihre Identität, um diese Änderung vorzunehmen.',
    somebodyElse:
      'Es wurde nichts geändert, weil dieser Browser jetzt mit einem anderen Konto angemeldet ist. Laden Sie die Seite neu, um fortzufahren.',
    disabled:
      'Dieses Konto wurde deaktiviert. Wenden Sie sich an die Administration, um es wieder zu aktivieren.',
    noSignUp:
      'Für diese E‑Mail-Adresse gibt es kein Konto, und neue Konten können hier nicht erstellt werden.',
    wrongUrl:
      'Diese Seite wurde unter einer URL geöffnet, die {product} nicht akzeptiert. Öffnen Sie sie unter der richtigen URL.',
    cookiesOff:
      'Ihr Browser blockiert Cookies, die für die Anmeldung nötig sind. Erlauben Sie Cookies für diese Website und laden Sie die Seite neu.',
    unexpected: 'Bei uns ist etwas schiefgegangen. Versuchen Sie es gleich noch einmal.',
    tryAgainIn: 'Versuchen Sie es in {duration} erneut.',
    tryAgainAt: 'Versuchen Sie es in {duration} erneut, um {time}.',
    tryAgainAfter: 'Versuchen Sie es nach diesem Zeitpunkt erneut: {time}.',
    tooManyEmails:
      'Es wurden zu viele E‑Mails angefordert, daher können wir noch keine weitere senden. Frühere E‑Mails funktionieren weiterhin.',
    notAnAddress: 'Das sieht nicht wie eine E‑Mail-Adresse aus. Verwenden Sie die Form ada@example.com.',
    notACode: 'Das ist kein gültiger Code. Codes bestehen aus acht Buchstaben, wie BCDF-GHJK.',
    notAnEmailCode: 'Das ist kein gültiger Code. Codes aus E‑Mails bestehen aus acht Ziffern, wie 1234-5678.',
    deviceCode:
      'Das ist der Code Ihres Geräts. Geben Sie zuerst die acht Ziffern aus der E‑Mail ein. Sobald Sie angemeldet sind, können Sie das Gerät zulassen.',
    wrongEmailCode:
      'Dieser Code hat nicht funktioniert. Prüfen Sie, ob er aus der neuesten E‑Mail stammt. Wenn ja, ist er vielleicht abgelaufen: Senden Sie eine neue E‑Mail.',
    passkeys: {
      unsupported: 'Dieser Browser unterstützt keine Passkeys.',
      noAuthenticator:
        'Auf diesem Gerät ist weder eine Bildschirmsperre noch Fingerabdruck- oder Gesichtserkennung für Passkeys eingerichtet. Versuchen Sie es mit einem Smartphone, einem Sicherheitsschlüssel oder einem Passwortmanager.',
      cancelled: 'Die Passkey-Anfrage wurde abgebrochen oder hat zu lange gedauert. Versuchen Sie es erneut.',
      failed:
        'Ihr Browser konnte hier keinen Passkey verwenden. Versuchen Sie es erneut oder mit einem anderen Browser.',
      alreadyThere:
        'Dieses Gerät hat bereits einen Passkey für dieses Konto. Sie können sich damit anmelden.',
    },
    passkeySignIn: {
      noAuthenticator:
        'Auf diesem Gerät gibt es keinen Passkey, den Sie hier verwenden können. Verwenden Sie Ihr Smartphone, einen Sicherheitsschlüssel oder E‑Mail.',
      refused: 'Dieser Passkey hat nicht funktioniert. Versuchen Sie es erneut oder verwenden Sie E‑Mail.',
      unknown:
        'Dieser Passkey ist nicht mehr registriert. Verwenden Sie einen anderen oder stattdessen E‑Mail.',
    },
  },
  login: {
    noPassword: 'Kein Passwort nötig.',
    deviceWaiting: 'Ein Gerät wartet mit diesem Code. Melden Sie sich an, um die Anfrage zu prüfen.',
    programWaiting: 'Ein Programm wartet darauf, dass Sie sich anmelden.',
    or: 'oder',
    withPasskey: 'Mit Passkey anmelden',
    emailLink: 'Link per E‑Mail senden',
    alreadySent:
      'Wir haben bereits eine E‑Mail an {email} gesendet. Sie können den Link darin hier öffnen oder eine neue E‑Mail anfordern, um einen Code einzugeben.',
    checkEmail: 'Sehen Sie in Ihr Postfach',
    sent: 'Wir haben eine E‑Mail an {email} gesendet. Öffnen Sie den Link darin oder geben Sie den Code hier ein. Beide laufen in {time} ab.',
    sentAgain: 'Wir haben eine neue E‑Mail gesendet. Verwenden Sie den Code aus der neuesten.',
    expired:
      'Die E‑Mail, die wir an {email} gesendet haben, ist abgelaufen. Ihr Link und ihr Code funktionieren nicht mehr.',
    openWebmail: '{webmail} öffnen',
    signedIn: 'Sie sind angemeldet',
    signedInAs: 'Sie sind als {email} angemeldet.',
    signedInElsewhere:
      'Sie haben sich in einem anderen Tab als {email} angemeldet. Schließen Sie diesen oder fahren Sie hier fort.',
    signedOut: 'Sie sind abgemeldet.',
    signedOutEverywhere: 'Sie sind überall abgemeldet, auch auf Ihren Geräten.',
    deleted: 'Ihr Konto wurde gelöscht.',
  },
  magicLink: {
    requestedHere: 'Sie haben diesen Link in diesem Browser angefordert.',
    signInAs: 'Als {email} anmelden',
    where: 'Wo möchten Sie sich anmelden?',
    here: 'In diesem Browser',
    hereText: 'Geben Sie die E‑Mail-Adresse ein, an die der Link gesendet wurde.',
    there: 'Wo Sie ihn angefordert haben',
    thereText:
      'Gehen Sie zu der Seite zurück, auf der Sie ihn angefordert haben, und geben Sie dort den Code aus derselben E‑Mail ein. Danach können Sie diese Seite schließen.',
    wrongAddress:
      'Dieser Link wurde nicht an {email} gesendet. Prüfen Sie die Adresse oder fordern Sie einen neuen Link an.',
    newLink: 'Neuen Link anfordern',
    dead: 'Dieser Link funktioniert nicht mehr',
    deadText:
      'Er ist abgelaufen oder wurde verwendet, oder Sie haben sich seither auf andere Weise angemeldet. Jeder Link funktioniert nur einmal.',
    used: 'Sie haben diesen Link bereits verwendet',
    usedText: 'Er hat Sie in diesem Browser angemeldet.',
  },
  emailLink: {
    incomplete: 'Dieser Link ist unvollständig',
    incompleteText:
      'Ein Teil des Links fehlt. Öffnen Sie ihn noch einmal aus der E‑Mail oder kopieren Sie den ganzen Link. Jeder Link funktioniert nur einmal.',
    unchanged: 'Es wurde nichts geändert',
    declined:
      'Sie können diese Seite schließen. Falls Sie es sich anders überlegen: Der Link in der E‑Mail funktioniert, bis er abläuft.',
  },
  verifyEmail: {
    heading: 'Neue E‑Mail-Adresse bestätigen',
    ownerText:
      'Die E‑Mail-Adresse Ihres Kontos bei {product} ändert sich von {old} zu {new}. Mit der neuen melden Sie sich künftig an.',
    anyoneText:
      'Fahren Sie nur fort, wenn Sie diese Änderung angefordert haben. Um zu bestätigen, dass es Ihr Konto ist, geben Sie seine bisherige E‑Mail-Adresse ein oder öffnen Sie diesen Link in einem Browser, in dem Sie angemeldet sind.',
    currentEmail: 'Bisherige E‑Mail-Adresse',
    decline: 'Nicht ändern',
    confirm: 'Adresse ändern',
    done: 'E‑Mail-Adresse geändert',
    doneText:
      'Ab jetzt gehen Anmelde-E‑Mails an {email}. Wir haben Ihre vorherige Adresse benachrichtigt. Von dort aus kann die Änderung {duration} lang rückgängig gemacht werden.',
    conflict: 'Ein anderes Konto bei {product} verwendet diese E‑Mail-Adresse, daher wurde nichts geändert.',
    ownerRefused:
      'Dieser Link funktioniert nicht mehr. Er wurde verwendet, ist abgelaufen oder wurde durch einen neueren ersetzt, oder Sie wurden abgemeldet. Ihre Kontoseite zeigt Ihre aktuelle E‑Mail-Adresse.',
    anyoneRefused:
      'Das hat nicht funktioniert. Prüfen Sie, ob Sie die bisherige E‑Mail-Adresse des Kontos eingegeben haben. Wenn ja, wurde der Link verwendet, ist abgelaufen oder wurde durch einen neueren ersetzt, oder die Sitzung, die ihn angefordert hat, ist beendet. Nach 5 falschen Versuchen funktioniert ein Link nicht mehr.',
  },
  notMe: {
    heading: 'Waren Sie das?',
    text: 'Wenn nicht, beenden wir die Sitzung, um die es in der E‑Mail ging, und machen alles rückgängig, was sie hinzugefügt hat: Passkeys, Schlüssel, zugelassene Geräte, eine geänderte E‑Mail-Adresse und alle daraus entstandenen Sitzungen. Wurde die Sitzung mit einem Passkey gestartet, entfernen wir auch ihn und beenden alle damit gestarteten Sitzungen. Ihre anderen Sitzungen bleiben aktiv, außer wenn Ihre E‑Mail-Adresse wiederhergestellt werden muss: Dann enden alle.',
    decline: 'Das war ich',
    confirm: 'Das war ich nicht',
    done: 'Danke für Ihre Meldung',
    refused: 'Dieser Link ist abgelaufen oder unvollständig. Melden Sie sich an und prüfen Sie Ihr Konto.',
    conflict:
      'Ein anderes Konto verwendet jetzt Ihre vorherige E‑Mail-Adresse. Daher konnte sie nicht wiederhergestellt werden, und es wurde nichts geändert. Wenden Sie sich an die Administration.',
    ended: {
      new_device: 'Das Gerät wurde abgemeldet.',
      new_app: 'Die Anwendung wurde abgemeldet.',
      session: 'Die Sitzung ist beendet, und alles, was sie hinzugefügt hat, wurde entfernt.',
      passkey_removed:
        'Der entfernte Passkey kann nicht wiederhergestellt werden. Sie können ihn auf Ihrer Kontoseite wieder hinzufügen.',
      key_removed:
        'Der entfernte Schlüssel kann nicht wiederhergestellt werden. Sie können auf Ihrer Kontoseite einen neuen erstellen.',
      theft_stopped: 'Die Sitzung war bereits beendet. Alles, was sie hinzugefügt hat, wurde entfernt.',
    },
    othersEnded: 'Auch alle Ihre anderen Sitzungen sind beendet.',
    undone: 'Was rückgängig gemacht wurde',
    nothingUndone:
      'Es gab nichts mehr rückgängig zu machen. Die Sitzung war bereits beendet und hat nichts hinterlassen.',
    restored: 'Ihre E‑Mail-Adresse ist wieder {email}',
    browsers: { one: '{count} Browsersitzung beendet', other: '{count} Browsersitzungen beendet' },
    devices: { one: '{count} Gerät abgemeldet', other: '{count} Geräte abgemeldet' },
    passkeys: { one: '{count} Passkey entfernt', other: '{count} Passkeys entfernt' },
    keys: { one: '{count} Schlüssel entfernt', other: '{count} Schlüssel entfernt' },
    named: '{what}: {names}',
    approver: 'Wer hat das Gerät zugelassen?',
    approverText:
      'Es wurde in einem Browser zugelassen, der mit Ihrem Konto angemeldet war. Diese Sitzung ist noch aktiv:',
    signedIn: 'Angemeldet',
    approverReopen:
      'Wenn Sie das auch nicht waren, öffnen Sie den Link in der E‑Mail noch einmal, um auch diese Sitzung zu beenden.',
    approverQuestion:
      'Wenn Sie das auch nicht waren, beenden Sie diese Sitzung und entfernen Sie alles, was sie hinzugefügt hat.',
    endApprover: 'Auch diese Sitzung beenden',
    approverEnded:
      'Auch die Sitzung, über die das Gerät zugelassen wurde, ist beendet, und alles, was sie hinzugefügt hat, wurde entfernt.',
    next: 'Was Sie jetzt tun sollten',
    changePassword:
      'Ändern Sie das Passwort Ihres Postfachs, wenn es jemand anderes kennen könnte. Wer Ihre E‑Mails lesen kann, kann sich in Ihrem Konto anmelden.',
    review:
      'Prüfen Sie {account}. Entfernen Sie Passkeys und beenden Sie Sitzungen, die Sie nicht kennen. Melden Sie sich im Zweifel überall ab.',
    yourAccount: 'Ihr Konto',
    neverApprove:
      'Geben Sie nie einen Code ein, den Ihnen jemand anderes geschickt hat, und lassen Sie nie ein Gerät damit zu.',
  },
  device: {
    heading: 'Geräteanmeldung',
    code: 'Code von Ihrem Gerät',
    enterCode: 'Geben Sie den Code ein, den Ihr Gerät anzeigt.',
    unknownCode:
      'Kein Gerät wartet mit diesem Code. Wenn Sie es gerade zugelassen oder abgelehnt haben, ist alles erledigt. Prüfen Sie sonst den Code auf Ihrem Gerät. Wenn er übereinstimmt, beginnen Sie dort von vorn.',
    noLongerOffered:
      'Ein Dienst bietet etwas nicht mehr an, das das Gerät angefragt hat. Beginnen Sie auf Ihrem Gerät von vorn.',
    codeExpired: 'Dieser Code ist abgelaufen. Beginnen Sie auf Ihrem Gerät von vorn.',
    approvalInDoubt:
      'Dieser Code wartet nicht mehr auf Ihre Erlaubnis. Sehen Sie auf Ihrem Gerät nach: Vielleicht ist es schon angemeldet, oder die Anmeldung wurde dort abgebrochen.',
    sessions: 'Ihre Sitzungen ansehen',
    question: 'Darf sich dieses Gerät in Ihrem Konto anmelden?',
    compare: 'Prüfen Sie, ob dieser Code mit dem auf Ihrem Gerät übereinstimmt:',
    expiresIn: 'Läuft in {time} ab',
    warning: 'Lassen Sie es nur zu, wenn Sie diese Anmeldung gerade eben selbst begonnen haben.',
    warningText:
      'Wenn Ihnen jemand einen Code oder Link geschickt hat, würden Sie damit diese Person in Ihrem Konto anmelden.',
    otherNetwork:
      'Die Anfrage kommt aus einem anderen Netzwerk: Das ist nur zu erwarten, wenn das Gerät nicht bei Ihnen ist, etwa ein entfernter Server.',
    approve: 'Zulassen',
    deny: 'Ablehnen',
    network: 'Netzwerk',
    sameNetwork: 'Dasselbe wie Ihres',
    differentNetwork: 'Ein anderes als Ihres',
    details: 'Details',
    requested: 'Angefordert',
    access: 'Wenn Sie es zulassen, kann dieses Gerät',
    notOffered: '{scope} (nicht mehr angeboten)',
    onlyWith: 'Nur bei {service}, unter {resource}',
    oneService: 'einem Dienst',
    approved: 'Zugelassen',
    withdrawn: 'Erlaubnis zurückgezogen',
    byMistake: 'Versehentlich zugelassen?',
    withdraw: 'Erlaubnis zurückziehen',
    confirm: 'Geben Sie diesen Code auf Ihrem Gerät ein. Er wird nur einmal angezeigt.',
    confirmNever:
      'Geben Sie ihn nur auf dem Gerät vor Ihnen ein. Nennen Sie ihn niemandem: Wer danach fragt, will in Ihr Konto gelangen.',
    confirmImpossible:
      'Dieses Gerät befindet sich in einem anderen Netzwerk und kann nicht nach einem Bestätigungscode fragen. Sie können es nur aus seinem eigenen Netzwerk zulassen.',
    skipEmail: 'Nächstes Mal ohne E‑Mail: {addPasskey}.',
    addPasskey: 'Passkey hinzufügen',
    denied: 'Abgelehnt',
    deniedText: 'Sie haben die Anfrage abgelehnt. Es wurde nichts angemeldet.',
    status: {
      waiting: 'Warten auf Ihr Gerät …',
      deviceSignedIn: 'Ihr Gerät ist angemeldet. Sie können dieses Fenster schließen.',
      sessionEnded: 'Ihr Gerät war angemeldet, wurde aber inzwischen abgemeldet.',
      withdrawn: 'Ihr Gerät ist nicht angemeldet.',
      cancelled: 'Die Anmeldung wurde auf Ihrem Gerät abgebrochen. Es ist nicht angemeldet.',
      expired:
        'Ihr Gerät hat die Anmeldung nicht abgeschlossen, bevor der Code abgelaufen ist. Beginnen Sie auf Ihrem Gerät von vorn.',
      unknown:
        'Diese Seite kann nicht erkennen, ob sich Ihr Gerät angemeldet hat. Sehen Sie auf Ihrem Gerät nach: Wenn es nicht angemeldet ist, beginnen Sie dort von vorn.',
    },
  },
  authorize: {
    heading: 'Bei einem Programm anmelden',
    question: 'Darf {program} Ihr Konto bei {product} verwenden?',
    kind: 'Art',
    kinds: {
      command_line: 'Kommandozeile',
      service: 'Registrierte Anwendung',
      external: 'Externes Programm',
    },
    host: 'Host',
    goesBackTo: 'Zurück zu',
    thisComputer: 'Ein Programm auf diesem Computer',
    warningText: 'Wenn Ihnen jemand einen Link zu dieser Seite geschickt hat, lehnen Sie die Anfrage ab.',
    loopbackText: 'Jedes Programm auf diesem Computer könnte sich als {program} ausgeben.',
    externalText: 'Was sich hinter {host} verbirgt, wurde nicht überprüft.',
    access: 'Wenn Sie die Anfrage zulassen, kann dieses Programm',
    approvedText: 'Kehren Sie zum Programm zurück. Wenn es noch wartet, beginnen Sie dort von vorn.',
    unknownText:
      '{product} kennt das Programm nicht, das Sie hierher geschickt hat, oder nicht die Adresse, an die die Antwort gehen soll. Es wurde nichts gesendet. Beginnen Sie im Programm von vorn.',
    refused: 'Diese Anfrage kann nicht zugelassen werden',
    refusedText:
      '{host} hat etwas angefragt, das nicht zulässig ist. Gehen Sie zurück, um dort fortzufahren.',
    goBack: 'Zurück zu {host}',
    goBackToProgram: 'Zurück zum Programm',
  },
  signOut: {
    question: 'Von {product} abmelden?',
    text: 'Sie werden in diesem Browser und bei der Anwendung abgemeldet, die Sie hierher geschickt hat.',
    stay: 'Angemeldet bleiben',
    doneText: 'Sie können dieses Fenster schließen.',
    refusedText:
      '{product} kennt die Anwendung nicht, die Sie hierher geschickt hat, oder nicht die Adresse, zu der sie zurückführt. Sie wurden nicht abgemeldet.',
  },
  confirm: {
    title: 'Bestätigen Sie Ihre Identität',
    text: 'Ihre Anmeldung liegt schon etwas zurück. Um fortzufahren, melden Sie sich noch einmal als {email} an. Sie bleiben auf dieser Seite.',
    usePasskey: 'Passkey verwenden',
    wrongPasskey:
      'Dieser Passkey gehört nicht zu {email}. Wählen Sie einen anderen oder verwenden Sie E‑Mail.',
    emailCode: 'Code per E‑Mail senden',
    sent: 'Wir haben einen Code an {email} gesendet. Er läuft in {duration} ab.',
    confirm: 'Bestätigen',
    otherUser: 'Sie sind mit einem anderen Konto angemeldet',
    otherUserText:
      'Dieser Browser ist jetzt als {email} angemeldet, aber diese Seite zeigt noch das Konto von {shown}. Ihre letzte Änderung wurde nicht vorgenommen.',
    reload: 'Seite neu laden',
  },
};
