import type { MailTexts } from './type.ts';

export const de: MailTexts = {
  help: 'Hilfe',
  unknown: 'unbekannt',
  labelled: '{label}: {value}',
  quoted: '„{text}“',
  quotesExplained:
    'Text in Anführungszeichen stammt vom Programm oder von der Person und wurde nicht überprüft.',
  signIn: {
    subject: 'Bei {product} anmelden',
    openLink: 'Öffnen Sie diesen Link, um sich bei {product} anzumelden:',
    enterCode: 'Oder geben Sie diesen Code dort ein, wo Sie die Anmeldung begonnen haben:',
    once: 'Verwenden Sie innerhalb von {duration} eines von beiden. Es funktioniert nur einmal. Geben Sie den Link und den Code niemals weiter.',
    preheader: 'Link und Code funktionieren nur einmal und nur innerhalb von {duration}.',
    notYou: 'Wenn Sie diese E‑Mail nicht angefordert haben, können Sie sie ignorieren.',
    requested: 'Angefordert',
    browser: 'Browser',
    browserOn: '{browser} unter {system}',
    ipAddress: 'IP-Adresse',
  },
  emailChange: {
    subject: 'Bestätigen Sie Ihre neue Adresse für {product}',
    openLink:
      'Jemand möchte diese E‑Mail-Adresse für ein Konto bei {product} verwenden. Wenn Sie das waren, öffnen Sie diesen Link und bestätigen Sie. In einem Browser, in dem Sie nicht angemeldet sind, benötigen Sie auch Ihre bisherige Adresse:',
    link: 'Diese Adresse verwenden',
    expires:
      'Der Link funktioniert nur einmal und läuft am {time} ab. Nach der Bestätigung gehen Anmelde-E‑Mails an diese Adresse.',
    notYou:
      'Wenn Sie das nicht waren, ignorieren Sie diese E‑Mail. Solange niemand den Link verwendet, ändert sich nichts.',
  },
  emailTaken: {
    subject: 'Jemand wollte Ihre E‑Mail-Adresse verwenden',
    what: 'Jemand, der mit einem anderen Konto bei {product} angemeldet ist, wollte diese E‑Mail-Adresse für dieses Konto verwenden.',
    unchanged:
      'Sie haben ein Konto mit dieser Adresse oder hatten bis vor Kurzem eines, daher wurde nichts geändert.',
    wasYou:
      'Wenn Sie das waren, melden Sie sich zuerst mit dem Konto an, das diese Adresse hat, und ändern Sie sie dort. Wenn nicht, müssen Sie nichts tun.',
  },
  emailRestored: {
    subject: 'Diese Adresse wurde aus einem Konto bei {product} entfernt',
    what: 'Von der vorherigen Adresse aus wurde uns mitgeteilt, dass die Änderung auf diese Adresse nicht gewollt war. Das Konto bei {product} hat wieder die vorherige Adresse, und alle seine Sitzungen wurden beendet.',
    owner:
      'Wenn das Ihr Konto ist, melden Sie sich mit der vorherigen Adresse an. Danach können Sie sie erneut ändern.',
  },
  emailReturned: {
    subject: 'Ihr Konto bei {product} verwendet diese Adresse nicht mehr',
    what: 'Ihr Konto bei {product} verwendet wieder eine frühere Adresse. Anmelde-E‑Mails und Sicherheitshinweise kommen nicht mehr an diese Adresse.',
    owner:
      'Wenn das Ihr Konto ist, melden Sie sich mit der früheren Adresse an und ändern Sie sie bei Bedarf erneut.',
  },
  accountDeleted: {
    subject: 'Ihr Konto bei {product} wurde gelöscht',
    what: 'Ihr Konto bei {product} wurde gelöscht, samt Sitzungen, Passkeys, Mitgliedschaften in Organisationen und Sicherheitsprotokoll. Es kann nicht wiederhergestellt werden.',
    next: 'Sie können sich mit dieser Adresse neu registrieren; dabei entsteht ein neues Konto. Wenn Sie das Konto nicht gelöscht haben, wenden Sie sich an die Administration dieses Dienstes und ändern Sie das Passwort Ihres Postfachs.',
  },
  disowned: {
    subject: 'Was in Ihrem Konto bei {product} rückgängig gemacht wurde',
    what: 'Jemand hat den Link „Das war ich nicht“ eines Sicherheitshinweises zu Ihrem Konto bei {product} verwendet, gesendet am {time}.',
    nothing:
      'Es gab nichts mehr rückgängig zu machen: Die Sitzung war bereits beendet und hatte nichts hinzugefügt.',
    undone: 'Das wurde rückgängig gemacht:',
    sessions: 'Beendete Browsersitzungen',
    devices: 'Abgemeldete Geräte',
    device: 'Gerät',
    passkey: 'Passkey entfernt',
    key: 'Schlüssel entfernt',
    address: 'Adresse wiederhergestellt',
    othersContinue: 'Ihre anderen Sitzungen sind nicht betroffen.',
    allEnded:
      'Weil die Adresse wiederhergestellt wurde, sind alle Sitzungen des Kontos beendet. Entfernt sind auch alle Passkeys, die seit der Änderung hinzugefügt wurden, sowie ein Passkey, mit dem die gemeldete Anmeldung erfolgt ist.',
    review:
      'Melden Sie sich an und prüfen Sie Ihr Konto: Entfernen Sie Passkeys und melden Sie Geräte ab, die Sie nicht kennen.',
    notYou:
      'Wenn Sie das nicht waren, kann jemand anderes Ihre E‑Mails lesen: Ändern Sie das Passwort Ihres Postfachs.',
  },
  notice: {
    newAddress: 'Neue Adresse',
    when: 'Zeitpunkt',
    ipAddress: 'IP-Adresse',
    device: 'Gerät',
    program: 'Programm',
    key: 'Schlüssel',
    passkey: 'Passkey',
    userAgent: 'User-Agent',
    wasYou: 'Wenn Sie das waren, können Sie diese E‑Mail ignorieren.',
    notYou:
      'Wenn Sie das nicht waren, öffnen Sie diesen Link und klicken Sie auf die Schaltfläche auf der Seite. {undo}',
    link: 'Das war ich nicht',
    expires: 'Das Öffnen des Links allein ändert nichts. Der Link läuft am {time} ab.',
  },
  digest: {
    what: 'Sie haben innerhalb einer Stunde viele Hinweise dieser Art zu Ihrem Konto bei {product} erhalten. Diese E‑Mail enthält die übrigen, die neuesten zuerst.',
    wasYou: 'Wenn alles davon von Ihnen stammt, können Sie diese E‑Mail ignorieren.',
    notYou:
      'Wenn etwas davon nicht von Ihnen stammt, öffnen Sie den Link darunter und klicken Sie auf die Schaltfläche auf der Seite. {undo} Das Öffnen eines Links allein ändert nichts. Der erste dieser Links läuft am {time} ab.',
    more: {
      one: '{count} weiterer Hinweis steht nur im Sicherheitsprotokoll auf Ihrer Kontoseite.',
      other: '{count} weitere Hinweise stehen nur im Sicherheitsprotokoll auf Ihrer Kontoseite.',
    },
  },
  undo: {
    session:
      'Das beendet diese Sitzung und macht alles rückgängig, was sie hinzugefügt hat: Passkeys, Schlüssel, zugelassene Geräte, eine geänderte E‑Mail-Adresse und alle daraus entstandenen Sitzungen. Wurde diese Sitzung mit einem Passkey gestartet, wird auch er entfernt, und alle damit gestarteten Sitzungen enden.',
    device:
      '{session} Danach bietet die Seite an, auch die Sitzung zu beenden, über die das Gerät zugelassen wurde.',
    app: '{session} Danach bietet die Seite an, auch die Sitzung zu beenden, über die die Anwendung zugelassen wurde.',
    passkey:
      '{session} Der entfernte Passkey wird nicht wiederhergestellt; Sie können ihn wieder hinzufügen.',
    key: '{session} Der entfernte Schlüssel wird nicht wiederhergestellt; Sie können einen neuen erstellen.',
    address:
      'Das stellt diese Adresse wieder her und beendet alle Sitzungen des Kontos. Entfernt werden auch alle Passkeys, die seit der Änderung hinzugefügt wurden, sowie ein Passkey, mit dem die Anmeldung für die Änderung erfolgt ist.',
    theft:
      'Das macht alles rückgängig, was diese Sitzung hinzugefügt hat: Passkeys, Schlüssel, zugelassene Geräte, eine geänderte E‑Mail-Adresse und alle daraus entstandenen Sitzungen. Wurde diese Sitzung mit einem Passkey gestartet, wird auch er entfernt, und alle damit gestarteten Sitzungen enden.',
  },
  notices: {
    new_device: {
      subject: 'Ein neues Gerät hat sich in Ihrem Konto bei {product} angemeldet',
      digestSubject: 'Weitere neue Geräte haben sich in Ihrem Konto bei {product} angemeldet',
      what: 'Ein neues Gerät hat sich in Ihrem Konto bei {product} angemeldet. Jemand, der mit Ihrem Konto angemeldet war, hat es zugelassen.',
    },
    new_browser: {
      subject: 'Neue Anmeldung in Ihrem Konto bei {product}',
      digestSubject: 'Weitere neue Anmeldungen in Ihrem Konto bei {product}',
      what: 'Jemand hat sich in Ihrem Konto bei {product} mit einem Browser und aus einem Netzwerk angemeldet, die bisher nicht zusammen verwendet wurden.',
    },
    new_app: {
      subject: 'Eine Anwendung hat sich in Ihrem Konto bei {product} angemeldet',
      digestSubject: 'Weitere Anwendungen haben sich in Ihrem Konto bei {product} angemeldet',
      what: 'Eine Anwendung hat sich in Ihrem Konto bei {product} angemeldet. Jemand, der mit Ihrem Konto angemeldet war, hat sie zugelassen, oder ein Administrator erlaubt sie für alle.',
    },
    passkey_added: {
      subject: 'Ein Passkey wurde zu Ihrem Konto bei {product} hinzugefügt',
      digestSubject: 'Weitere Passkeys wurden zu Ihrem Konto bei {product} hinzugefügt',
      what: 'Ein Passkey wurde zu Ihrem Konto bei {product} hinzugefügt. Wer ihn hat, kann sich in Ihrem Konto anmelden.',
    },
    passkey_removed: {
      subject: 'Ein Passkey wurde aus Ihrem Konto bei {product} entfernt',
      digestSubject: 'Weitere Passkeys wurden aus Ihrem Konto bei {product} entfernt',
      what: 'Ein Passkey wurde aus Ihrem Konto bei {product} entfernt. Sie können sich damit nicht mehr anmelden.',
    },
    key_added: {
      subject: 'Ein Schlüssel wurde für Ihr Konto bei {product} erstellt',
      digestSubject: 'Weitere Schlüssel wurden für Ihr Konto bei {product} erstellt',
      what: 'Ein Schlüssel wurde für Ihr Konto bei {product} erstellt. Ein Programm, das ihn hat, kann in Ihrem Namen handeln, soweit der Schlüssel es erlaubt und bis er abläuft.',
    },
    key_removed: {
      subject: 'Ein Schlüssel Ihres Kontos bei {product} wurde entfernt',
      digestSubject: 'Weitere Schlüssel Ihres Kontos bei {product} wurden entfernt',
      what: 'Ein Schlüssel Ihres Kontos bei {product} wurde entfernt. Programme, die ihn verwenden, können nicht mehr in Ihrem Namen handeln.',
    },
    email_changed: {
      subject: 'Die E‑Mail-Adresse Ihres Kontos bei {product} wurde geändert',
      digestSubject: 'Die E‑Mail-Adresse Ihres Kontos bei {product} wurde erneut geändert',
      what: 'Die E‑Mail-Adresse Ihres Kontos bei {product} wurde geändert. Anmeldelinks und Sicherheitshinweise kommen nicht mehr an diese Adresse.',
    },
    theft_stopped: {
      subject:
        'Eine Sitzung Ihres Kontos bei {product} wurde beendet, weil ihr Token zweimal verwendet wurde',
      digestSubject:
        'Weitere Sitzungen Ihres Kontos bei {product} beendet, weil ihre Token zweimal verwendet wurden',
      what: 'Ein Token einer Sitzung Ihres Kontos bei {product} wurde ein zweites Mal verwendet. Das kann bedeuten, dass es jemand kopiert hat. Wir haben diese Sitzung beendet; Ihre anderen Sitzungen sind nicht betroffen. Melden Sie sich bei Bedarf wieder an.',
    },
    refresh_repeated_elsewhere: {
      subject: 'Eine Sitzung Ihres Kontos bei {product} wurde von zwei Orten aus verwendet',
      digestSubject: 'Weitere Sitzungen Ihres Kontos bei {product} wurden von zwei Orten aus verwendet',
      what: 'Ein Programm hat eine Sitzung Ihres Kontos bei {product} erneuert, und dieselbe Anfrage kam noch einmal aus einem anderen Netzwerk oder von einem anderen Programm. Das geschieht, wenn ein Gerät in diesem Moment das Netzwerk wechselt oder wenn jemand die Zugangsdaten dieser Sitzung kopiert hat. Die folgenden Angaben sind die der zweiten Anfrage.',
    },
  },
};
