import type { Texts } from './type.ts';

export const fr: Texts = {
  frame: {
    help: 'Aide',
    needsScript: 'Cette page nécessite JavaScript.',
    loadError: "Cette page n'a pas pu être chargée entièrement. Essayez de la recharger.",
    notFound: {
      title: 'Page introuvable',
      text: "Il n'y a pas de page à cette adresse. Vérifiez l'URL ou accédez à votre compte.",
    },
  },
  common: {
    busy: 'Un instant…',
    sentences: '{first} {second}',
    forDevelopers: 'Pour les développeurs',
    toAccount: 'Accéder à votre compte',
    loading: 'Chargement…',
    tryAgain: 'Réessayer',
    continue: 'Continuer',
    cancel: 'Annuler',
    stay: 'Rester sur cette page',
    unanswerable: 'Impossible de répondre à cette demande',
    showMore: 'Afficher plus',
    signIn: 'Se connecter',
    signOut: 'Se déconnecter',
    signedIn: 'Connecté.',
    signedOut: 'Vous êtes déconnecté',
    signedInAs: 'Connecté en tant que {email}',
    unknown: 'Inconnu',
    quotesExplained: "Le texte entre guillemets est fourni par l'appareil et n'a pas été vérifié.",
    browserOn: '{browser} sur {system}',
    ipAddress: 'Adresse IP',
    userAgent: 'Agent utilisateur',
    program: 'Programme',
    browser: 'Navigateur',
    device: 'Appareil',
    justNow: "à l'instant",
    inAMoment: 'dans un instant',
    emailAddress: 'Adresse e‑mail',
    enterEmailAddress: 'Saisissez votre adresse e‑mail.',
    emailCode: "Code de l'e‑mail",
    enterEmailCode: "Saisissez le code de l'e‑mail.",
    newEmail: 'Envoyer un nouvel e‑mail',
    otherEmail: 'Utiliser une autre adresse e‑mail',
    otherAccount: 'Utiliser un autre compte',
    everything: 'Tout ce que vous pouvez faire',
    nothing: 'Rien dans votre compte',
    scopes: {
      profile: 'Voir votre nom, votre photo, votre langue et votre fuseau horaire',
      email: 'Voir votre adresse e‑mail',
      organizations: 'Voir à quelles organisations vous appartenez et votre rôle dans chacune',
      identity: "Prouver à d'autres systèmes qu'il agit en votre nom",
    },
  },
  errors: {
    unreachable: 'Impossible de joindre {product}. Vérifiez votre connexion et réessayez.',
    unavailable: "{product} n'est pas disponible pour le moment.",
    tooMany: 'Trop de tentatives.',
    signedOut: 'Vous êtes déconnecté. Reconnectez-vous pour continuer.',
    notConfirmed: "Rien n'a été modifié. Confirmez votre identité pour effectuer cette modification.",
    somebodyElse:
      "Rien n'a été modifié, car ce navigateur est maintenant connecté à un autre compte. Rechargez la page pour continuer.",
    disabled: "Ce compte a été désactivé. Contactez l'administrateur pour le réactiver.",
    noSignUp: "Il n'y a pas de compte pour cette adresse e‑mail, et il n'est pas possible d'en créer un ici.",
    wrongUrl: "Cette page a été ouverte à une URL que {product} n'accepte pas. Ouvrez-la à la bonne URL.",
    cookiesOff:
      'Votre navigateur bloque les cookies, nécessaires pour se connecter. Autorisez les cookies pour ce site, puis rechargez la page.',
    unexpected: "Une erreur s'est produite de notre côté. Réessayez dans un instant.",
    tryAgainIn: 'Réessayez dans {duration}.',
    tryAgainAt: 'Réessayez dans {duration}, à {time}.',
    tryAgainAfter: 'Réessayez après le {time}.',
    tooManyEmails:
      "Trop d'e‑mails demandés : nous ne pouvons pas encore en envoyer un autre. Les e‑mails précédents fonctionnent toujours.",
    notAnAddress: 'Cela ne ressemble pas à une adresse e‑mail. Utilisez le format ada@example.com.',
    notACode: "Ce code n'est pas valide. Les codes comportent huit lettres, comme BCDF-GHJK.",
    notAnEmailCode:
      "Ce code n'est pas valide. Les codes des e‑mails comportent huit chiffres, comme 1234-5678.",
    deviceCode:
      "C'est le code de votre appareil. Saisissez d'abord les huit chiffres de l'e‑mail. Vous pourrez approuver l'appareil une fois la connexion établie.",
    wrongEmailCode:
      "Ce code n'a pas fonctionné. Vérifiez qu'il provient du dernier e‑mail. Si c'est le cas, il a peut-être expiré : envoyez un nouvel e‑mail.",
    passkeys: {
      unsupported: "Ce navigateur ne prend pas en charge les clés d'accès.",
      noAuthenticator:
        "Aucun verrouillage d'écran, aucune empreinte ni reconnaissance faciale n'est configuré sur cet appareil pour les clés d'accès. Essayez avec un téléphone, une clé de sécurité ou un gestionnaire de mots de passe.",
      cancelled: "La demande de clé d'accès a été annulée ou a expiré. Réessayez.",
      failed:
        "Votre navigateur n'a pas pu utiliser de clé d'accès ici. Réessayez, ou utilisez un autre navigateur.",
      alreadyThere:
        "Cet appareil a déjà une clé d'accès pour ce compte. Vous pouvez l'utiliser pour vous connecter.",
    },
    passkeySignIn: {
      noAuthenticator:
        "Il n'y a pas de clé d'accès utilisable ici sur cet appareil. Utilisez votre téléphone, une clé de sécurité ou l'e‑mail.",
      refused: "Cette clé d'accès n'a pas fonctionné. Réessayez, ou utilisez l'e‑mail.",
      unknown: "Cette clé d'accès n'est plus enregistrée. Utilisez-en une autre, ou l'e‑mail.",
    },
  },
  login: {
    noPassword: 'Aucun mot de passe nécessaire.',
    deviceWaiting: 'Un appareil attend avec ce code. Connectez-vous pour vérifier sa demande.',
    programWaiting: 'Un programme attend que vous vous connectiez.',
    or: 'ou',
    withPasskey: "Utiliser une clé d'accès",
    emailLink: "M'envoyer un lien par e‑mail",
    alreadySent:
      'Nous avons déjà envoyé un e‑mail à {email}. Vous pouvez ouvrir son lien ici, ou demander un nouvel e‑mail pour saisir un code.',
    checkEmail: 'Consultez vos e‑mails',
    sent: 'Nous avons envoyé un e‑mail à {email}. Ouvrez le lien, ou saisissez le code ici. Les deux expirent dans {time}.',
    sentAgain: 'Nous avons envoyé un nouvel e‑mail. Utilisez le code du plus récent.',
    expired: "L'e‑mail envoyé à {email} a expiré. Son lien et son code ne fonctionnent plus.",
    openWebmail: 'Ouvrir {webmail}',
    signedIn: 'Vous êtes connecté',
    signedInAs: 'Vous êtes connecté en tant que {email}.',
    signedInElsewhere:
      'Vous vous êtes connecté en tant que {email} dans un autre onglet. Fermez celui-ci ou continuez ici.',
    signedOut: 'Vous êtes déconnecté.',
    signedOutEverywhere: 'Vous êtes déconnecté partout, y compris sur vos appareils.',
    deleted: 'Votre compte a été supprimé.',
  },
  magicLink: {
    requestedHere: 'Vous avez demandé ce lien dans ce navigateur.',
    signInAs: 'Se connecter en tant que {email}',
    where: 'Où voulez-vous vous connecter ?',
    here: 'Dans ce navigateur',
    hereText: "Saisissez l'adresse e‑mail à laquelle le lien a été envoyé.",
    there: "Là où vous l'avez demandé",
    thereText:
      'Revenez à la page où vous avez demandé le lien et saisissez-y le code du même e‑mail. Vous pouvez ensuite fermer cette page.',
    wrongAddress: "Ce lien n'a pas été envoyé à {email}. Vérifiez l'adresse, ou demandez un nouveau lien.",
    newLink: 'Demander un nouveau lien',
    dead: 'Ce lien ne fonctionne plus',
    deadText:
      "Il a expiré, il a été utilisé, ou vous vous êtes connecté autrement depuis. Chaque lien ne fonctionne qu'une fois.",
    used: 'Vous avez déjà utilisé ce lien',
    usedText: 'Il vous a connecté dans ce navigateur.',
  },
  emailLink: {
    incomplete: 'Ce lien est incomplet',
    incompleteText:
      "Une partie du lien manque. Ouvrez-le à nouveau depuis l'e‑mail, ou copiez le lien entier. Chaque lien ne fonctionne qu'une fois.",
    unchanged: "Rien n'a été modifié",
    declined:
      "Vous pouvez fermer cette page. Si vous changez d'avis, le lien de l'e‑mail fonctionne jusqu'à son expiration.",
  },
  verifyEmail: {
    heading: 'Confirmez votre nouvelle adresse e‑mail',
    ownerText:
      "L'adresse e‑mail de votre compte {product} passera de {old} à {new}. Vous utiliserez la nouvelle pour vous connecter.",
    anyoneText:
      "Continuez seulement si vous avez demandé cette modification. Pour confirmer qu'il s'agit de votre compte, saisissez son adresse e‑mail actuelle, ou ouvrez ce lien dans un navigateur où vous êtes connecté.",
    currentEmail: 'Adresse e‑mail actuelle',
    decline: 'Ne pas modifier',
    confirm: "Modifier l'adresse",
    done: 'Adresse e‑mail modifiée',
    doneText:
      'Désormais, les e‑mails de connexion arrivent à {email}. Nous avons prévenu votre adresse précédente, depuis laquelle la modification peut être annulée pendant {duration}.',
    conflict: "Un autre compte {product} utilise cette adresse e‑mail : rien n'a donc été modifié.",
    ownerRefused:
      'Ce lien ne fonctionne plus. Il a été utilisé, a expiré ou a été remplacé par un plus récent, ou vous avez été déconnecté. Votre page de compte indique votre adresse e‑mail actuelle.',
    anyoneRefused:
      "Cela n'a pas fonctionné. Vérifiez que vous avez saisi l'adresse e‑mail actuelle du compte. Si c'est le cas, le lien a été utilisé, a expiré ou a été remplacé par un plus récent, ou la session qui l'a demandé est terminée. Un lien cesse de fonctionner après 5 tentatives erronées.",
  },
  notMe: {
    heading: 'Était-ce vous ?',
    text: "Sinon, nous mettrons fin à la session concernée par l'e‑mail et annulerons tout ce qu'elle a ajouté : clés d'accès, clés d'API, appareils approuvés, changement d'adresse e‑mail et sessions qui en proviennent. Si la session a été ouverte avec une clé d'accès, nous supprimerons aussi cette clé et mettrons fin à toutes les sessions ouvertes avec elle. Vos autres sessions restent actives, sauf si votre adresse e‑mail doit être restaurée : elles se terminent alors toutes.",
    decline: "C'était moi",
    confirm: "Ce n'était pas moi",
    done: 'Merci de nous avoir prévenus',
    refused: 'Ce lien a expiré ou est incomplet. Connectez-vous et vérifiez votre compte.',
    conflict:
      "Un autre compte utilise maintenant votre adresse e‑mail précédente : elle n'a pas pu être restaurée et rien n'a été modifié. Contactez l'administrateur.",
    ended: {
      new_device: "L'appareil a été déconnecté.",
      new_app: "L'application a été déconnectée.",
      session: "La session est terminée, et tout ce qu'elle a ajouté a été supprimé.",
      passkey_removed:
        "La clé d'accès supprimée ne peut pas être restaurée. Vous pouvez l'ajouter à nouveau depuis votre compte.",
      key_removed:
        "La clé d'API supprimée ne peut pas être restaurée. Vous pouvez en créer une nouvelle depuis votre compte.",
      theft_stopped: "La session était déjà terminée. Tout ce qu'elle a ajouté a été supprimé.",
    },
    othersEnded: 'Toutes vos autres sessions sont également terminées.',
    undone: 'Ce qui a été annulé',
    nothingUndone: "Il ne restait rien à annuler. La session était déjà terminée et n'a rien laissé.",
    restored: 'Votre adresse e‑mail est de nouveau {email}',
    browsers: {
      one: '{count} session de navigateur terminée',
      many: '{count} de sessions de navigateur terminées',
      other: '{count} sessions de navigateur terminées',
    },
    devices: {
      one: '{count} appareil déconnecté',
      many: "{count} d'appareils déconnectés",
      other: '{count} appareils déconnectés',
    },
    passkeys: {
      one: "{count} clé d'accès supprimée",
      many: "{count} de clés d'accès supprimées",
      other: "{count} clés d'accès supprimées",
    },
    keys: {
      one: "{count} clé d'API supprimée",
      many: "{count} de clés d'API supprimées",
      other: "{count} clés d'API supprimées",
    },
    named: '{what} : {names}',
    approver: "Qui a approuvé l'appareil ?",
    approverText:
      'Il a été approuvé dans un navigateur connecté à votre compte. Cette session est toujours active :',
    signedIn: 'Connexion',
    approverReopen:
      "Si ce n'était pas vous non plus, ouvrez à nouveau le lien de l'e‑mail pour mettre aussi fin à cette session.",
    approverQuestion:
      "Si ce n'était pas vous non plus, mettez fin à cette session et supprimez tout ce qu'elle a ajouté.",
    endApprover: 'Terminer aussi cette session',
    approverEnded:
      "La session qui a approuvé l'appareil est terminée elle aussi, et tout ce qu'elle a ajouté a été supprimé.",
    next: 'Que faire maintenant',
    changePassword:
      "Changez le mot de passe de votre messagerie si quelqu'un d'autre pourrait le connaître. Toute personne qui peut lire vos e‑mails peut se connecter à votre compte.",
    review:
      "Vérifiez {account}. Supprimez les clés d'accès et terminez les sessions que vous ne reconnaissez pas. En cas de doute, déconnectez-vous partout.",
    yourAccount: 'votre compte',
    neverApprove: "N'approuvez et ne saisissez jamais un code que quelqu'un d'autre vous a envoyé.",
  },
  device: {
    heading: "Connexion d'un appareil",
    code: 'Code de votre appareil',
    enterCode: 'Saisissez le code affiché sur votre appareil.',
    unknownCode:
      "Aucun appareil n'attend avec ce code. Si vous venez de l'approuver ou de le refuser, tout est en ordre. Sinon, vérifiez le code sur votre appareil. S'il correspond, recommencez sur l'appareil.",
    noLongerOffered:
      "Un service ne propose plus quelque chose que l'appareil a demandé. Recommencez sur votre appareil.",
    codeExpired: 'Ce code a expiré. Recommencez sur votre appareil.',
    approvalInDoubt:
      "Ce code n'attend plus d'approbation. Vérifiez votre appareil : il est peut-être déjà connecté, ou la connexion y a été annulée.",
    sessions: 'Voir vos sessions',
    question: 'Connecter cet appareil à votre compte ?',
    compare: 'Vérifiez que ce code correspond à celui de votre appareil :',
    expiresIn: 'Expire dans {time}',
    warning: "N'approuvez que si vous venez de commencer vous-même cette connexion.",
    warningText:
      "Si quelqu'un vous a envoyé un code ou un lien, votre approbation connecterait cette personne à votre compte.",
    otherNetwork:
      "La demande vient d'un autre réseau : ce n'est normal que si l'appareil n'est pas avec vous, comme un serveur distant.",
    approve: 'Approuver',
    deny: 'Refuser',
    network: 'Réseau',
    sameNetwork: 'Le même que le vôtre',
    differentNetwork: 'Différent du vôtre',
    details: 'Détails',
    requested: 'Date de la demande',
    access: 'Si vous approuvez, cet appareil peut',
    notOffered: "{scope} (n'est plus proposé)",
    onlyWith: 'Uniquement avec {service}, à {resource}',
    oneService: 'un seul service',
    approved: 'Approuvé',
    withdrawn: 'Approbation retirée',
    byMistake: 'Approuvé par erreur ?',
    withdraw: "Retirer l'approbation",
    confirm: "Saisissez ce code sur l'appareil. Il n'est affiché qu'une seule fois.",
    confirmNever:
      "Saisissez-le uniquement sur l'appareil devant vous. Ne le communiquez jamais à personne\u00a0: quiconque vous le demande cherche à accéder à votre compte.",
    confirmImpossible:
      "Cet appareil se trouve sur un autre réseau et ne peut pas demander de code de confirmation. Vous ne pouvez l'approuver que depuis son propre réseau.",
    skipEmail: "La prochaine fois, évitez l'e‑mail : {addPasskey}.",
    addPasskey: "ajoutez une clé d'accès",
    denied: 'Refusé',
    deniedText: "Vous avez refusé la demande. Rien n'a été connecté à votre compte.",
    status: {
      waiting: 'En attente de la fin de la connexion sur votre appareil…',
      deviceSignedIn: 'Votre appareil est connecté. Vous pouvez fermer cette fenêtre.',
      sessionEnded: "Votre appareil s'est connecté, mais a été déconnecté depuis.",
      withdrawn: "Votre appareil n'est pas connecté.",
      cancelled: "La connexion a été annulée sur votre appareil. Il n'est pas connecté.",
      expired:
        "Votre appareil n'a pas terminé la connexion avant l'expiration du code. Recommencez sur votre appareil.",
      unknown:
        "Cette page ne peut pas savoir si votre appareil s'est connecté. Vérifiez votre appareil : s'il n'est pas connecté, recommencez sur l'appareil.",
    },
  },
  authorize: {
    heading: 'Connexion à un programme',
    question: 'Autoriser {program} à utiliser votre compte {product}\u00a0?',
    kind: 'Type',
    kinds: {
      command_line: 'Ligne de commande',
      service: 'Application enregistrée',
      external: 'Programme externe',
    },
    host: 'Hôte',
    goesBackTo: 'Retour vers',
    thisComputer: 'Un programme sur cet ordinateur',
    warningText: "Si quelqu'un vous a envoyé un lien vers cette page, refusez la demande.",
    loopbackText: "N'importe quel programme de cet ordinateur pourrait se faire passer pour {program}.",
    externalText: "Ce qui se trouve sur {host} n'a pas été vérifié.",
    access: 'Si vous approuvez, ce programme peut',
    approvedText: "Retournez au programme. S'il attend encore, recommencez dans le programme.",
    unknownText:
      "{product} ne connaît pas le programme qui vous a envoyé ici, ou pas l'adresse à laquelle il attend la réponse. Rien n'a été envoyé. Recommencez dans le programme.",
    refused: "Impossible d'approuver cette demande",
    refusedText: "{host} a demandé quelque chose qui n'est pas autorisé. Retournez-y pour continuer.",
    goBack: 'Retourner vers {host}',
    goBackToProgram: 'Retourner au programme',
  },
  signOut: {
    question: 'Se déconnecter de {product}\u00a0?',
    text: "Vous serez déconnecté de ce navigateur et de l'application qui vous a envoyé ici.",
    stay: 'Rester connecté',
    doneText: 'Vous pouvez fermer cette fenêtre.',
    refusedText:
      "{product} ne connaît pas l'application qui vous a envoyé ici, ou l'adresse de retour. Vous n'avez pas été déconnecté.",
  },
  confirm: {
    title: 'Confirmez votre identité',
    text: 'Votre connexion remonte à un certain temps. Pour continuer, reconnectez-vous en tant que {email}. Vous resterez sur cette page.',
    usePasskey: "Utiliser une clé d'accès",
    wrongPasskey:
      "Cette clé d'accès n'appartient pas à {email}. Choisissez-en une autre, ou utilisez l'e‑mail.",
    emailCode: 'Recevoir un code par e‑mail',
    sent: 'Nous avons envoyé un code à {email}. Il expire dans {duration}.',
    confirm: 'Confirmer',
    otherUser: 'Vous êtes connecté à un autre compte',
    otherUserText:
      "Ce navigateur est maintenant connecté en tant que {email}, mais cette page affiche encore le compte de {shown}. Votre dernière modification n'a pas été effectuée.",
    reload: 'Recharger la page',
  },
};
