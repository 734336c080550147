import type { MailTexts } from './type.ts';

export const fr: MailTexts = {
  help: 'Aide',
  unknown: 'inconnue',
  labelled: '{label}\u00a0: {value}',
  quoted: '«\u00a0{text}\u00a0»',
  quotesExplained: "Le texte entre guillemets vient du programme ou de la personne et n'a pas été vérifié.",
  signIn: {
    subject: 'Connexion à {product}',
    openLink: 'Ouvrez ce lien pour vous connecter à {product} :',
    enterCode: 'Ou saisissez ce code là où vous avez commencé à vous connecter :',
    once: "Utilisez l'un ou l'autre, une seule fois, dans un délai de {duration}. Ne communiquez jamais le lien ni le code à personne.",
    preheader: 'Le lien et le code fonctionnent une seule fois, dans un délai de {duration}.',
    notYou: "Si vous n'avez pas demandé cet e‑mail, vous pouvez l'ignorer.",
    requested: 'Date de la demande',
    browser: 'Navigateur',
    browserOn: '{browser} sur {system}',
    ipAddress: 'Adresse IP',
  },
  emailChange: {
    subject: 'Confirmez votre nouvelle adresse pour {product}',
    openLink:
      "Quelqu'un a demandé à utiliser cette adresse e‑mail pour son compte {product}. Si c'était vous, ouvrez ce lien et confirmez. Dans un navigateur où vous n'êtes pas connecté, il vous faut aussi votre adresse actuelle :",
    link: 'Utiliser cette adresse',
    expires:
      'Le lien fonctionne une seule fois et expire le {time}. Une fois la demande confirmée, les e‑mails de connexion arriveront à cette adresse.',
    notYou: "Si ce n'était pas vous, ignorez cet e‑mail. Rien ne change tant que personne n'utilise le lien.",
  },
  emailTaken: {
    subject: "Quelqu'un a essayé d'utiliser votre adresse e‑mail",
    what: 'Une personne connectée à un autre compte {product} a demandé à y utiliser cette adresse e‑mail.',
    unchanged:
      "Vous avez un compte avec cette adresse, ou en aviez un jusqu'à récemment : rien n'a donc changé.",
    wasYou:
      "Si c'était vous, connectez-vous au compte associé à cette adresse et commencez par la modifier. Sinon, vous n'avez rien à faire.",
  },
  emailRestored: {
    subject: "Cette adresse a été retirée d'un compte {product}",
    what: "Le titulaire de l'adresse précédente nous a signalé ne pas être à l'origine du passage à celle-ci. Son compte {product} utilise à nouveau l'adresse précédente et toutes ses sessions sont terminées.",
    owner:
      "Si ce compte est le vôtre, connectez-vous avec l'adresse précédente. Vous pourrez ensuite la modifier à nouveau.",
  },
  emailReturned: {
    subject: "Votre compte {product} n'utilise plus cette adresse",
    what: "Votre compte {product} utilise à nouveau une adresse antérieure. Les e‑mails de connexion et les alertes de sécurité n'arrivent plus à cette adresse.",
    owner:
      "Si ce compte est le vôtre, connectez-vous avec l'adresse antérieure et modifiez-la à nouveau si vous le souhaitez.",
  },
  accountDeleted: {
    subject: 'Votre compte {product} a été supprimé',
    what: "Votre compte {product} a été supprimé, avec ses sessions, ses clés d'accès, son journal de sécurité et ses appartenances à des organisations. Il ne peut pas être restauré.",
    next: "Vous pouvez vous inscrire à nouveau avec cette adresse ; un nouveau compte sera alors créé. Si vous n'avez pas supprimé le compte, contactez l'administrateur de ce service et changez le mot de passe de votre messagerie.",
  },
  disowned: {
    subject: 'Ce qui a été annulé dans votre compte {product}',
    what: "Quelqu'un a utilisé le lien « Ce n'était pas moi » d'une alerte de sécurité concernant votre compte {product}, envoyée le {time}.",
    nothing: "Il ne restait rien à annuler : la session était déjà terminée et n'avait rien ajouté.",
    undone: 'Voici ce qui a été annulé :',
    sessions: 'Sessions de navigateur terminées',
    devices: 'Appareils déconnectés',
    device: 'Appareil',
    passkey: "Clé d'accès supprimée",
    key: "Clé d'API supprimée",
    address: 'Adresse restaurée',
    othersContinue: 'Vos autres sessions ne sont pas concernées.',
    allEnded:
      "L'adresse ayant été restaurée, toutes les sessions du compte sont terminées. Les clés d'accès ajoutées depuis le changement ont été supprimées, ainsi que celle qui aurait servi à la connexion signalée.",
    review:
      "Connectez-vous et vérifiez votre compte : supprimez les clés d'accès et déconnectez les appareils que vous ne reconnaissez pas.",
    notYou:
      "Si ce n'était pas vous, quelqu'un d'autre peut lire vos e‑mails : changez le mot de passe de votre messagerie.",
  },
  notice: {
    newAddress: 'Nouvelle adresse',
    when: 'Date et heure',
    ipAddress: 'Adresse IP',
    device: 'Appareil',
    program: 'Programme',
    key: "Clé d'API",
    passkey: "Clé d'accès",
    userAgent: 'Agent utilisateur',
    wasYou: "Si c'était vous, vous pouvez ignorer cet e‑mail.",
    notYou: "Si ce n'était pas vous, ouvrez ce lien et appuyez sur le bouton de la page. {undo}",
    link: "Ce n'était pas moi",
    expires: 'Ouvrir le lien ne change rien à lui seul. Le lien expire le {time}.',
  },
  digest: {
    what: 'Vous avez reçu en une heure de nombreuses alertes de sécurité de ce type concernant votre compte {product}. Cet e‑mail liste les autres, de la plus récente à la plus ancienne.',
    wasYou: "Si c'était vous à chaque fois, vous pouvez ignorer cet e‑mail.",
    notYou:
      "Si l'une de ces actions ne vient pas de vous, ouvrez le lien qui la suit et appuyez sur le bouton de la page. {undo} Ouvrir un lien ne change rien à lui seul. Le premier de ces liens expire le {time}.",
    more: {
      one: '{count} autre alerte figure uniquement dans le journal de sécurité de votre page de compte.',
      many: "{count} d'autres alertes figurent uniquement dans le journal de sécurité de votre page de compte.",
      other:
        '{count} autres alertes figurent uniquement dans le journal de sécurité de votre page de compte.',
    },
  },
  undo: {
    session:
      "Cela met fin à cette session et annule tout ce qu'elle a ajouté : clés d'accès, clés d'API, appareils approuvés, changement d'adresse e‑mail et sessions qui en proviennent. Si cette session a été ouverte avec une clé d'accès, celle-ci est également supprimée, et toutes les sessions ouvertes avec elle sont terminées.",
    device: "{session} La page propose ensuite de mettre aussi fin à la session qui a approuvé l'appareil.",
    passkey: "{session} La clé d'accès supprimée n'est pas restaurée ; vous pouvez l'ajouter à nouveau.",
    key: "{session} La clé d'API supprimée n'est pas restaurée ; vous pouvez en créer une nouvelle.",
    app: "{session} La page propose ensuite de mettre aussi fin à la session qui a approuvé l'application.",
    address:
      "Cela restaure cette adresse et met fin à toutes les sessions du compte. Les clés d'accès ajoutées depuis le changement sont supprimées, ainsi que celle qui aurait servi à se connecter pour le faire.",
    theft:
      "Cela annule tout ce que cette session a ajouté : clés d'accès, clés d'API, appareils approuvés, changement d'adresse e‑mail et sessions qui en proviennent. Si cette session a été ouverte avec une clé d'accès, celle-ci est également supprimée, et toutes les sessions ouvertes avec elle sont terminées.",
  },
  notices: {
    new_device: {
      subject: "Un nouvel appareil s'est connecté à votre compte {product}",
      digestSubject: "D'autres nouveaux appareils se sont connectés à votre compte {product}",
      what: "Un nouvel appareil s'est connecté à votre compte {product}. Une personne connectée à votre compte l'a approuvé.",
    },
    new_browser: {
      subject: 'Nouvelle connexion à votre compte {product}',
      digestSubject: 'Autres nouvelles connexions à votre compte {product}',
      what: "Quelqu'un s'est connecté à votre compte {product} depuis un navigateur et un réseau qui n'avaient pas encore été utilisés ensemble.",
    },
    new_app: {
      subject: "Une application s'est connectée à votre compte {product}",
      digestSubject: "D'autres applications se sont connectées à votre compte {product}",
      what: "Une application s'est connectée à votre compte {product}. Une personne connectée à votre compte l'a approuvée, ou un administrateur l'autorise pour tout le monde.",
    },
    passkey_added: {
      subject: "Une clé d'accès a été ajoutée à votre compte {product}",
      digestSubject: "D'autres clés d'accès ont été ajoutées à votre compte {product}",
      what: "Une clé d'accès a été ajoutée à votre compte {product}. Toute personne qui la possède peut se connecter à votre compte.",
    },
    passkey_removed: {
      subject: "Une clé d'accès a été supprimée de votre compte {product}",
      digestSubject: "D'autres clés d'accès ont été supprimées de votre compte {product}",
      what: "Une clé d'accès a été supprimée de votre compte {product}. Vous ne pouvez plus l'utiliser pour vous connecter.",
    },
    key_added: {
      subject: "Une clé d'API a été créée pour votre compte {product}",
      digestSubject: "D'autres clés d'API ont été créées pour votre compte {product}",
      what: "Une clé d'API a été créée pour votre compte {product}. Un programme qui la possède peut agir en votre nom, dans les limites de la clé, jusqu'à son expiration.",
    },
    key_removed: {
      subject: "Une clé d'API de votre compte {product} a été supprimée",
      digestSubject: "D'autres clés d'API de votre compte {product} ont été supprimées",
      what: "Une clé d'API de votre compte {product} a été supprimée. Les programmes qui l'utilisent ne peuvent plus agir en votre nom.",
    },
    email_changed: {
      subject: "L'adresse e‑mail de votre compte {product} a été modifiée",
      digestSubject: "L'adresse e‑mail de votre compte {product} a encore été modifiée",
      what: "L'adresse e‑mail de votre compte {product} a été modifiée. Les liens de connexion et les alertes de sécurité n'arrivent plus à cette adresse.",
    },
    theft_stopped: {
      subject: 'Une session de votre compte {product} a été terminée, car son jeton a été utilisé deux fois',
      digestSubject:
        "D'autres sessions de votre compte {product} terminées : leurs jetons ont été utilisés deux fois",
      what: "Un jeton d'une session de votre compte {product} a été utilisé une deuxième fois, ce qui peut signifier que quelqu'un l'a copié. Nous avons mis fin à cette session ; vos autres sessions ne sont pas concernées. Reconnectez-vous là où c'est nécessaire.",
    },
    refresh_repeated_elsewhere: {
      subject: 'Une session de votre compte {product} a été utilisée depuis deux endroits',
      digestSubject: "D'autres sessions de votre compte {product} ont été utilisées depuis deux endroits",
      what: "Un programme a renouvelé une session de votre compte {product}, et la même requête est arrivée une deuxième fois d'un autre réseau ou d'un autre programme. Cela se produit lorsqu'un appareil change de réseau à ce moment-là, ou lorsque quelqu'un a copié les identifiants de cette session. Les détails ci-dessous sont ceux de la deuxième requête.",
    },
  },
};
