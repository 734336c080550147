import type { Texts } from './type.ts';

export const es: Texts = {
  frame: {
    help: 'Ayuda',
    needsScript: 'Esta página necesita JavaScript.',
    loadError: 'Esta página no se ha cargado por completo. Prueba a volver a cargarla.',
    notFound: {
      title: 'Página no encontrada',
      text: 'No hay ninguna página en esta dirección. Revisa la URL o ve a tu cuenta.',
    },
  },
  common: {
    busy: 'Un momento…',
    sentences: '{first} {second}',
    forDevelopers: 'Para desarrolladores',
    toAccount: 'Ir a tu cuenta',
    loading: 'Cargando…',
    tryAgain: 'Reintentar',
    continue: 'Continuar',
    cancel: 'Cancelar',
    stay: 'Seguir en esta página',
    unanswerable: 'No se puede responder a esta solicitud',
    showMore: 'Mostrar más',
    signIn: 'Iniciar sesión',
    signOut: 'Cerrar sesión',
    signedIn: 'Sesión iniciada.',
    signedOut: 'Se ha cerrado tu sesión',
    signedInAs: 'Sesión iniciada como {email}',
    unknown: 'Desconocida',
    quotesExplained: 'El texto entre comillas no se ha verificado: lo indica quien hace la solicitud.',
    browserOn: '{browser} en {system}',
    ipAddress: 'Dirección IP',
    userAgent: 'Agente de usuario',
    program: 'Programa',
    browser: 'Navegador',
    device: 'Dispositivo',
    justNow: 'ahora mismo',
    inAMoment: 'en un momento',
    emailAddress: 'Correo electrónico',
    enterEmailAddress: 'Escribe tu correo electrónico.',
    emailCode: 'Código del correo',
    enterEmailCode: 'Escribe el código del correo.',
    newEmail: 'Enviar un correo nuevo',
    otherEmail: 'Usar otro correo electrónico',
    otherAccount: 'Usar otra cuenta',
    everything: 'Todo lo que tú puedes hacer',
    nothing: 'Nada en tu cuenta',
    scopes: {
      profile: 'Ver tu nombre, foto, idioma y zona horaria',
      email: 'Ver tu correo electrónico',
      organizations: 'Ver a qué organizaciones perteneces y tu rol en cada una',
      identity: 'Demostrar a otros sistemas que actúa en tu nombre',
    },
  },
  errors: {
    unreachable: 'No se ha podido conectar con {product}. Revisa tu conexión e inténtalo de nuevo.',
    unavailable: '{product} no está disponible en este momento.',
    tooMany: 'Demasiados intentos.',
    signedOut: 'Se ha cerrado tu sesión. Vuelve a iniciarla para continuar.',
    notConfirmed: 'No se ha cambiado nada. Confirma tu identidad para hacer este cambio.',
    somebodyElse:
      'No se ha cambiado nada, porque este navegador tiene ahora la sesión iniciada en otra cuenta. Vuelve a cargar la página para continuar.',
    disabled: 'Esta cuenta está desactivada. Ponte en contacto con el administrador para volver a activarla.',
    noSignUp: 'No hay ninguna cuenta con este correo y aquí no se pueden crear cuentas nuevas.',
    wrongUrl: 'Esta página se ha abierto en una URL que {product} no acepta. Ábrela en la URL correcta.',
    cookiesOff:
      'Tu navegador bloquea las cookies, que son necesarias para iniciar sesión. Permite las cookies en este sitio y vuelve a cargar la página.',
    unexpected: 'Algo ha fallado por nuestra parte. Inténtalo de nuevo en un momento.',
    tryAgainIn: 'Inténtalo de nuevo en {duration}.',
    tryAgainAt: 'Inténtalo de nuevo en {duration}, a las {time}.',
    tryAgainAfter: 'Inténtalo de nuevo después del {time}.',
    tooManyEmails:
      'Se han solicitado demasiados correos y todavía no podemos enviar otro. Los correos anteriores siguen funcionando.',
    notAnAddress: 'Eso no parece una dirección de correo. Usa el formato ada@example.com.',
    notACode: 'Ese código no es válido. Los códigos tienen ocho letras, como BCDF-GHJK.',
    notAnEmailCode:
      'Ese código no es válido. Los códigos de los correos tienen ocho dígitos, como 1234-5678.',
    deviceCode:
      'Ese es el código de tu dispositivo. Escribe primero los ocho dígitos del correo. Podrás aprobar el dispositivo cuando hayas iniciado sesión.',
    wrongEmailCode:
      'Ese código no ha funcionado. Comprueba que sea del último correo. Si lo es, puede que haya caducado: envía un correo nuevo.',
    passkeys: {
      unsupported: 'Este navegador no admite llaves de acceso.',
      noAuthenticator:
        'Este dispositivo no tiene configurado el bloqueo de pantalla, la huella digital ni el reconocimiento facial para llaves de acceso. Prueba con un teléfono, una llave de seguridad o un gestor de contraseñas.',
      cancelled: 'La solicitud de la llave de acceso se ha cancelado o ha caducado. Inténtalo de nuevo.',
      failed:
        'Tu navegador no ha podido usar una llave de acceso aquí. Inténtalo de nuevo o usa otro navegador.',
      alreadyThere:
        'Este dispositivo ya tiene una llave de acceso para esta cuenta. Puedes iniciar sesión con ella.',
    },
    passkeySignIn: {
      noAuthenticator:
        'En este dispositivo no hay ninguna llave de acceso que puedas usar aquí. Usa tu teléfono, una llave de seguridad o el correo.',
      refused: 'Esa llave de acceso no ha funcionado. Inténtalo de nuevo o usa el correo.',
      unknown: 'Esa llave de acceso ya no está registrada. Usa otra o usa el correo.',
    },
  },
  login: {
    noPassword: 'No necesitas contraseña.',
    deviceWaiting: 'Un dispositivo espera con este código. Inicia sesión para revisar su solicitud.',
    programWaiting: 'Un programa espera a que inicies sesión.',
    or: 'o',
    withPasskey: 'Usar una llave de acceso',
    emailLink: 'Recibir un enlace por correo',
    alreadySent:
      'Ya hemos enviado un correo a {email}. Puedes abrir aquí su enlace o solicitar un correo nuevo para escribir un código.',
    checkEmail: 'Revisa tu correo',
    sent: 'Hemos enviado un correo a {email}. Abre el enlace o escribe aquí el código. Ambos caducan en {time}.',
    sentAgain: 'Hemos enviado un correo nuevo. Usa el código del último.',
    expired: 'El correo que enviamos a {email} ha caducado. Su enlace y su código ya no funcionan.',
    openWebmail: 'Abrir {webmail}',
    signedIn: 'Has iniciado sesión',
    signedInAs: 'Has iniciado sesión como {email}.',
    signedInElsewhere: 'Has iniciado sesión como {email} en otra pestaña. Cierra esta o continúa aquí.',
    signedOut: 'Se ha cerrado tu sesión.',
    signedOutEverywhere: 'Se ha cerrado tu sesión en todas partes, también en tus dispositivos.',
    deleted: 'Se ha eliminado tu cuenta.',
  },
  magicLink: {
    requestedHere: 'Has solicitado este enlace en este navegador.',
    signInAs: 'Iniciar sesión como {email}',
    where: '¿Dónde quieres iniciar sesión?',
    here: 'En este navegador',
    hereText: 'Escribe la dirección de correo a la que se envió el enlace.',
    there: 'Donde lo solicitaste',
    thereText:
      'Vuelve a la página donde lo solicitaste y escribe allí el código del mismo correo. Después puedes cerrar esta página.',
    wrongAddress: 'Este enlace no se envió a {email}. Revisa la dirección o solicita un enlace nuevo.',
    newLink: 'Solicitar un enlace nuevo',
    dead: 'Este enlace ya no funciona',
    deadText:
      'Ha caducado, se ha usado o has iniciado sesión de otra forma desde entonces. Cada enlace funciona una sola vez.',
    used: 'Ya has usado este enlace',
    usedText: 'Con él iniciaste sesión en este navegador.',
  },
  emailLink: {
    incomplete: 'Este enlace está incompleto',
    incompleteText:
      'Falta una parte del enlace. Vuelve a abrirlo desde el correo o copia el enlace completo. Cada enlace funciona una sola vez.',
    unchanged: 'No se ha cambiado nada',
    declined:
      'Puedes cerrar esta página. Si cambias de opinión, el enlace del correo funciona hasta que caduque.',
  },
  verifyEmail: {
    heading: 'Confirma tu correo nuevo',
    ownerText:
      'El correo de tu cuenta de {product} cambiará de {old} a {new}. Usarás el nuevo para iniciar sesión.',
    anyoneText:
      'Continúa solo si has solicitado este cambio. Para confirmar que la cuenta es tuya, escribe su correo actual o abre este enlace en un navegador en el que tengas la sesión iniciada.',
    currentEmail: 'Correo electrónico actual',
    decline: 'No cambiar',
    confirm: 'Cambiar correo',
    done: 'Correo cambiado',
    doneText:
      'A partir de ahora, los correos de inicio de sesión llegan a {email}. Hemos avisado a tu dirección anterior, desde la que se puede deshacer el cambio durante {duration}.',
    conflict: 'Otra cuenta de {product} usa este correo, así que no se ha cambiado nada.',
    ownerRefused:
      'Este enlace ya no funciona. Se ha usado, ha caducado o lo ha sustituido uno más reciente, o se ha cerrado tu sesión. La página de tu cuenta muestra tu correo actual.',
    anyoneRefused:
      'No ha funcionado. Comprueba que has escrito el correo actual de la cuenta. Si es así, el enlace se ha usado, ha caducado o lo ha sustituido uno más reciente, o la sesión que lo solicitó se ha finalizado. Un enlace deja de funcionar tras 5 intentos fallidos.',
  },
  notMe: {
    heading: '¿Has sido tú?',
    text: 'Si no, finalizaremos la sesión a la que se refería el correo y desharemos todo lo que añadió: llaves de acceso, claves de API, dispositivos aprobados, un cambio de correo y las sesiones creadas a partir de ellos. Si la sesión se inició con una llave de acceso, también eliminaremos la llave y finalizaremos todas las sesiones iniciadas con ella. Tus demás sesiones siguen activas, salvo que haya que restaurar tu correo: entonces se finalizan todas.',
    decline: 'He sido yo',
    confirm: 'No he sido yo',
    done: 'Gracias por avisarnos',
    refused: 'Este enlace ha caducado o está incompleto. Inicia sesión y revisa tu cuenta.',
    conflict:
      'Otra cuenta usa ahora tu correo anterior, así que no se ha podido restaurar y no se ha cambiado nada. Ponte en contacto con el administrador.',
    ended: {
      new_device: 'Se ha cerrado la sesión del dispositivo.',
      session: 'Se ha finalizado la sesión y se ha eliminado todo lo que añadió.',
      new_app: 'Se ha cerrado la sesión de la aplicación.',
      passkey_removed:
        'La llave de acceso eliminada no se puede restaurar. Puedes volver a añadirla desde tu cuenta.',
      key_removed: 'La clave de API eliminada no se puede restaurar. Puedes crear una nueva desde tu cuenta.',
      theft_stopped: 'La sesión ya estaba finalizada. Se ha eliminado todo lo que añadió.',
    },
    othersEnded: 'También se han finalizado todas tus demás sesiones.',
    undone: 'Qué se ha deshecho',
    nothingUndone: 'No quedaba nada por deshacer. La sesión ya estaba finalizada y no dejó nada.',
    restored: 'Tu correo vuelve a ser {email}',
    browsers: {
      one: '{count} sesión de navegador finalizada',
      many: '{count} de sesiones de navegador finalizadas',
      other: '{count} sesiones de navegador finalizadas',
    },
    devices: {
      one: '{count} dispositivo con la sesión cerrada',
      many: '{count} de dispositivos con la sesión cerrada',
      other: '{count} dispositivos con la sesión cerrada',
    },
    passkeys: {
      one: '{count} llave de acceso eliminada',
      many: '{count} de llaves de acceso eliminadas',
      other: '{count} llaves de acceso eliminadas',
    },
    keys: {
      one: '{count} clave de API eliminada',
      many: '{count} de claves de API eliminadas',
      other: '{count} claves de API eliminadas',
    },
    named: '{what}: {names}',
    approver: '¿Quién ha aprobado el dispositivo?',
    approverText: 'Se aprobó en un navegador con la sesión iniciada en tu cuenta. Esa sesión sigue activa:',
    signedIn: 'Inicio de sesión',
    approverReopen:
      'Si tampoco has sido tú, vuelve a abrir el enlace del correo para finalizar también esta sesión.',
    approverQuestion: 'Si tampoco has sido tú, finaliza esta sesión y elimina todo lo que añadió.',
    endApprover: 'Finalizar también esta sesión',
    approverEnded:
      'También se ha finalizado la sesión que aprobó el dispositivo y se ha eliminado todo lo que añadió.',
    next: 'Qué hacer ahora',
    changePassword:
      'Cambia la contraseña de tu cuenta de correo si otra persona puede conocerla. Quien pueda leer tu correo puede iniciar sesión en tu cuenta.',
    review:
      'Revisa {account}. Elimina las llaves de acceso y finaliza las sesiones que no reconozcas. En caso de duda, cierra la sesión en todas partes.',
    yourAccount: 'tu cuenta',
    neverApprove: 'Nunca apruebes ni escribas un código que te haya enviado otra persona.',
  },
  device: {
    heading: 'Inicio de sesión de un dispositivo',
    code: 'Código de tu dispositivo',
    enterCode: 'Escribe el código que muestra tu dispositivo.',
    unknownCode:
      'Ningún dispositivo espera con este código. Si acabas de aprobarlo o rechazarlo, ya está. Si no, revisa el código en tu dispositivo. Si coincide, empieza de nuevo allí.',
    noLongerOffered:
      'Un servicio ya no ofrece algo que el dispositivo ha solicitado. Empieza de nuevo en tu dispositivo.',
    codeExpired: 'Este código ha caducado. Empieza de nuevo en tu dispositivo.',
    approvalInDoubt:
      'Este código ya no espera aprobación. Revisa tu dispositivo: puede que ya tenga la sesión iniciada o que el inicio de sesión se haya cancelado allí.',
    sessions: 'Ver tus sesiones',
    question: '¿Permitir que este dispositivo inicie sesión en tu cuenta?',
    compare: 'Comprueba que este código coincide con el de tu dispositivo:',
    expiresIn: 'Caduca en {time}',
    warning: 'Aprueba solo si acabas de empezar tú este inicio de sesión.',
    warningText:
      'Si alguien te ha enviado un código o un enlace, al aprobarlo darías a esa persona acceso a tu cuenta.',
    otherNetwork:
      'La solicitud viene de otra red: es normal solo si el dispositivo no está contigo, como un servidor remoto.',
    approve: 'Aprobar',
    deny: 'Rechazar',
    network: 'Red',
    sameNetwork: 'La misma que la tuya',
    differentNetwork: 'Distinta de la tuya',
    details: 'Detalles',
    requested: 'Fecha de la solicitud',
    access: 'Si lo apruebas, este dispositivo puede',
    notOffered: '{scope} (ya no se ofrece)',
    onlyWith: 'Solo con {service}, en {resource}',
    oneService: 'un único servicio',
    approved: 'Aprobado',
    withdrawn: 'Aprobación retirada',
    byMistake: '¿Lo has aprobado por error?',
    withdraw: 'Retirar aprobación',
    confirm: 'Escribe este código en tu dispositivo. Solo se muestra una vez.',
    confirmNever:
      'Escríbelo solo en el dispositivo que tienes delante. No se lo digas nunca a nadie: quien te lo pida quiere entrar en tu cuenta.',
    confirmImpossible:
      'Este dispositivo está en otra red y no puede pedir un código de confirmación. Solo puedes aprobarlo desde su propia red.',
    skipEmail: 'La próxima vez, evita el correo: {addPasskey}.',
    addPasskey: 'añade una llave de acceso',
    denied: 'Rechazado',
    deniedText: 'Has rechazado la solicitud. No se ha iniciado ninguna sesión.',
    status: {
      waiting: 'Esperando a que tu dispositivo termine de iniciar sesión…',
      deviceSignedIn: 'Tu dispositivo ha iniciado sesión. Puedes cerrar esta ventana.',
      sessionEnded: 'Tu dispositivo inició sesión, pero su sesión se ha cerrado después.',
      withdrawn: 'Tu dispositivo no tiene la sesión iniciada.',
      cancelled: 'El inicio de sesión se canceló en tu dispositivo, que no tiene la sesión iniciada.',
      expired:
        'Tu dispositivo no terminó de iniciar sesión antes de que caducara el código. Empieza de nuevo en tu dispositivo.',
      unknown:
        'Esta página no puede saber si tu dispositivo ha iniciado sesión. Revisa tu dispositivo: si no ha iniciado sesión, empieza de nuevo allí.',
    },
  },
  authorize: {
    heading: 'Iniciar sesión en un programa',
    question: '¿Permitir que {program} use tu cuenta de {product}?',
    kind: 'Tipo',
    kinds: {
      command_line: 'Línea de comandos',
      service: 'Aplicación registrada',
      external: 'Programa externo',
    },
    host: 'Host',
    goesBackTo: 'Vuelve a',
    thisComputer: 'Un programa de este ordenador',
    warningText: 'Si alguien te ha enviado un enlace a esta página, rechaza la solicitud.',
    loopbackText: 'Cualquier programa de este ordenador podría hacerse pasar por {program}.',
    externalText: 'No se ha verificado qué hay en {host}.',
    access: 'Si apruebas, este programa puede',
    approvedText: 'Vuelve al programa. Si sigue esperando, empieza de nuevo allí.',
    unknownText:
      '{product} no conoce el programa que te ha enviado aquí, o la dirección en la que espera la respuesta. No se ha enviado nada. Empieza de nuevo en el programa.',
    refused: 'No se puede aprobar esta solicitud',
    refusedText: '{host} ha solicitado algo que no está permitido. Vuelve para continuar allí.',
    goBack: 'Volver a {host}',
    goBackToProgram: 'Volver al programa',
  },
  signOut: {
    question: '¿Cerrar la sesión de {product}?',
    text: 'Se cerrará tu sesión en este navegador y en la aplicación que te ha enviado aquí.',
    stay: 'Mantener la sesión',
    doneText: 'Puedes cerrar esta ventana.',
    refusedText:
      '{product} no conoce la aplicación que te ha enviado aquí, o la dirección a la que vuelve. No se ha cerrado ninguna sesión.',
  },
  confirm: {
    title: 'Confirma que eres tú',
    text: 'Hace tiempo que iniciaste sesión. Para continuar, vuelve a iniciarla como {email}. No saldrás de esta página.',
    usePasskey: 'Usar una llave de acceso',
    wrongPasskey: 'Esa llave de acceso no es de {email}. Elige otra o usa el correo.',
    emailCode: 'Recibir un código por correo',
    sent: 'Hemos enviado un código a {email}. Caduca en {duration}.',
    confirm: 'Confirmar',
    otherUser: 'Has iniciado sesión en otra cuenta',
    otherUserText:
      'Este navegador tiene ahora la sesión iniciada como {email}, pero esta página sigue mostrando la cuenta de {shown}. Tu último cambio no se ha hecho.',
    reload: 'Volver a cargar',
  },
};
