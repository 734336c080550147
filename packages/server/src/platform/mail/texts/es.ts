import type { MailTexts } from './type.ts';

export const es: MailTexts = {
  help: 'Ayuda',
  unknown: 'desconocida',
  labelled: '{label}: {value}',
  quoted: '«{text}»',
  quotesExplained: 'El texto entre comillas procede del programa o de la persona y no se ha verificado.',
  signIn: {
    subject: 'Inicia sesión en {product}',
    openLink: 'Abre este enlace para iniciar sesión en {product}:',
    enterCode: 'O escribe este código donde empezaste a iniciar sesión:',
    once: 'Usa uno de los dos, una sola vez, en un plazo de {duration}. No compartas nunca el enlace ni el código con nadie.',
    preheader: 'El enlace y el código funcionan una sola vez, en un plazo de {duration}.',
    notYou: 'Si no has solicitado este correo, puedes ignorarlo.',
    requested: 'Fecha de la solicitud',
    browser: 'Navegador',
    browserOn: '{browser} en {system}',
    ipAddress: 'Dirección IP',
  },
  emailChange: {
    subject: 'Confirma tu dirección nueva para {product}',
    openLink:
      'Alguien ha pedido usar esta dirección de correo para su cuenta de {product}. Si has sido tú, abre este enlace y confirma. En un navegador en el que no tengas la sesión iniciada, también necesitas tu dirección actual:',
    link: 'Usar esta dirección',
    expires:
      'El enlace funciona una sola vez y caduca el {time}. Después de confirmar, los correos de inicio de sesión llegarán a esta dirección.',
    notYou: 'Si no has sido tú, ignora este correo. Nada cambia a menos que alguien use el enlace.',
  },
  emailTaken: {
    subject: 'Alguien ha intentado usar tu dirección de correo',
    what: 'Alguien con la sesión iniciada en otra cuenta de {product} ha pedido usar esta dirección de correo en ella.',
    unchanged: 'Tienes una cuenta con esta dirección, o la tenías hasta hace poco, así que nada ha cambiado.',
    wasYou:
      'Si has sido tú, inicia sesión en la cuenta que tiene esta dirección y cámbiala allí primero. Si no, no tienes que hacer nada.',
  },
  emailRestored: {
    subject: 'Se ha quitado esta dirección de una cuenta de {product}',
    what: 'El titular de la dirección anterior nos ha comunicado que no la cambió por esta. Su cuenta de {product} vuelve a usar la dirección anterior y se han finalizado todas sus sesiones.',
    owner:
      'Si la cuenta es tuya, inicia sesión con la dirección anterior. Desde ahí puedes volver a cambiarla.',
  },
  emailReturned: {
    subject: 'Tu cuenta de {product} ya no usa esta dirección',
    what: 'Tu cuenta de {product} vuelve a usar una dirección anterior. Los correos de inicio de sesión y los avisos de seguridad ya no llegan a esta dirección.',
    owner: 'Si la cuenta es tuya, inicia sesión con la dirección anterior y vuelve a cambiarla si quieres.',
  },
  accountDeleted: {
    subject: 'Se ha eliminado tu cuenta de {product}',
    what: 'Se ha eliminado tu cuenta de {product}, con sus sesiones, llaves de acceso, registro de seguridad y pertenencia a organizaciones. No se puede restaurar.',
    next: 'Puedes volver a registrarte con esta dirección; se creará una cuenta nueva. Si no has eliminado la cuenta, ponte en contacto con el administrador de este servicio y cambia la contraseña de tu cuenta de correo.',
  },
  disowned: {
    subject: 'Qué se ha deshecho en tu cuenta de {product}',
    what: 'Alguien ha usado el enlace «No he sido yo» de un aviso de seguridad sobre tu cuenta de {product}, enviado el {time}.',
    nothing: 'No quedaba nada por deshacer: la sesión ya estaba finalizada y no había añadido nada.',
    undone: 'Se ha deshecho lo siguiente:',
    sessions: 'Sesiones de navegador finalizadas',
    devices: 'Dispositivos con la sesión cerrada',
    device: 'Dispositivo',
    passkey: 'Llave de acceso eliminada',
    key: 'Clave de API eliminada',
    address: 'Dirección restaurada',
    othersContinue: 'Tus demás sesiones no se ven afectadas.',
    allEnded:
      'Como se ha restaurado la dirección, se han finalizado todas las sesiones de la cuenta. También se han eliminado las llaves de acceso añadidas desde el cambio y la que se hubiera usado en el inicio de sesión no reconocido.',
    review:
      'Inicia sesión y revisa tu cuenta: elimina las llaves de acceso y cierra la sesión de los dispositivos que no reconozcas.',
    notYou:
      'Si no has sido tú, otra persona puede leer tu correo: cambia la contraseña de tu cuenta de correo.',
  },
  notice: {
    newAddress: 'Dirección nueva',
    when: 'Fecha y hora',
    ipAddress: 'Dirección IP',
    device: 'Dispositivo',
    program: 'Programa',
    key: 'Clave de API',
    passkey: 'Llave de acceso',
    userAgent: 'Agente de usuario',
    wasYou: 'Si has sido tú, puedes ignorar este correo.',
    notYou: 'Si no has sido tú, abre este enlace y pulsa el botón de la página. {undo}',
    link: 'No he sido yo',
    expires: 'Abrir el enlace no cambia nada por sí solo. El enlace caduca el {time}.',
  },
  digest: {
    what: 'Has recibido muchos avisos de este tipo sobre tu cuenta de {product} en una hora. Este correo incluye los demás, del más reciente al más antiguo.',
    wasYou: 'Si has sido tú en todos los casos, puedes ignorar este correo.',
    notYou:
      'Si en algún caso no has sido tú, abre el enlace que aparece debajo y pulsa el botón de la página. {undo} Abrir un enlace no cambia nada por sí solo. El primero de estos enlaces caduca el {time}.',
    more: {
      one: '{count} aviso más aparece solo en el registro de seguridad de la página de tu cuenta.',
      many: '{count} de avisos más aparecen solo en el registro de seguridad de la página de tu cuenta.',
      other: '{count} avisos más aparecen solo en el registro de seguridad de la página de tu cuenta.',
    },
  },
  undo: {
    session:
      'Así se finaliza esa sesión y se deshace todo lo que añadió: llaves de acceso, claves de API, dispositivos aprobados, un cambio de correo y las sesiones creadas a partir de ellos. Si esa sesión se inició con una llave de acceso, también se elimina la llave y se finalizan todas las sesiones iniciadas con ella.',
    device: '{session} Después, la página ofrece finalizar también la sesión que aprobó el dispositivo.',
    app: '{session} Después, la página ofrece finalizar también la sesión que aprobó la aplicación.',
    passkey: '{session} La llave de acceso eliminada no se restaura; puedes añadirla de nuevo.',
    key: '{session} La clave de API eliminada no se restaura; puedes crear una nueva.',
    address:
      'Así se restaura esta dirección y se finalizan todas las sesiones de la cuenta. También se eliminan las llaves de acceso añadidas desde el cambio y la que se haya usado para iniciar la sesión que lo hizo.',
    theft:
      'Así se deshace todo lo que añadió esa sesión: llaves de acceso, claves de API, dispositivos aprobados, un cambio de correo y las sesiones creadas a partir de ellos. Si esa sesión se inició con una llave de acceso, también se elimina la llave y se finalizan todas las sesiones iniciadas con ella.',
  },
  notices: {
    new_device: {
      subject: 'Un dispositivo nuevo ha iniciado sesión en tu cuenta de {product}',
      digestSubject: 'Más dispositivos nuevos han iniciado sesión en tu cuenta de {product}',
      what: 'Un dispositivo nuevo ha iniciado sesión en tu cuenta de {product}. Lo ha aprobado alguien que tenía la sesión iniciada en tu cuenta.',
    },
    new_browser: {
      subject: 'Nuevo inicio de sesión en tu cuenta de {product}',
      digestSubject: 'Más inicios de sesión nuevos en tu cuenta de {product}',
      what: 'Alguien ha iniciado sesión en tu cuenta de {product} desde un navegador y una red que no se habían usado juntos antes.',
    },
    new_app: {
      subject: 'Una aplicación ha iniciado sesión en tu cuenta de {product}',
      digestSubject: 'Más aplicaciones han iniciado sesión en tu cuenta de {product}',
      what: 'Una aplicación ha iniciado sesión en tu cuenta de {product}. La aprobó alguien que tenía la sesión iniciada en tu cuenta, o un administrador la permite para todos.',
    },
    passkey_added: {
      subject: 'Se ha añadido una llave de acceso a tu cuenta de {product}',
      digestSubject: 'Se han añadido más llaves de acceso a tu cuenta de {product}',
      what: 'Se ha añadido una llave de acceso a tu cuenta de {product}. Quien la tenga puede iniciar sesión en tu cuenta.',
    },
    passkey_removed: {
      subject: 'Se ha eliminado una llave de acceso de tu cuenta de {product}',
      digestSubject: 'Se han eliminado más llaves de acceso de tu cuenta de {product}',
      what: 'Se ha eliminado una llave de acceso de tu cuenta de {product}. Ya no puedes iniciar sesión con ella.',
    },
    key_added: {
      subject: 'Se ha creado una clave de API para tu cuenta de {product}',
      digestSubject: 'Se han creado más claves de API para tu cuenta de {product}',
      what: 'Se ha creado una clave de API para tu cuenta de {product}. Un programa que la tenga puede actuar en tu nombre, dentro de lo que permite la clave, hasta que caduque.',
    },
    key_removed: {
      subject: 'Se ha eliminado una clave de API de tu cuenta de {product}',
      digestSubject: 'Se han eliminado más claves de API de tu cuenta de {product}',
      what: 'Se ha eliminado una clave de API de tu cuenta de {product}. Los programas que la usan ya no pueden actuar en tu nombre.',
    },
    email_changed: {
      subject: 'Se ha cambiado el correo electrónico de tu cuenta de {product}',
      digestSubject: 'Se ha vuelto a cambiar el correo electrónico de tu cuenta de {product}',
      what: 'Se ha cambiado el correo electrónico de tu cuenta de {product}. Los enlaces de inicio de sesión y los avisos de seguridad ya no llegan a esta dirección.',
    },
    theft_stopped: {
      subject: 'Se ha finalizado una sesión de tu cuenta de {product} porque su token se usó dos veces',
      digestSubject:
        'Se han finalizado más sesiones de tu cuenta de {product} porque sus tokens se usaron dos veces',
      what: 'Un token de una sesión de tu cuenta de {product} se ha usado por segunda vez, lo que puede significar que alguien lo ha copiado. Hemos finalizado esa sesión; tus demás sesiones no se ven afectadas. Vuelve a iniciar sesión donde lo necesites.',
    },
    refresh_repeated_elsewhere: {
      subject: 'Una sesión de tu cuenta de {product} se ha usado desde dos lugares',
      digestSubject: 'Más sesiones de tu cuenta de {product} se han usado desde dos lugares',
      what: 'Un programa ha renovado una sesión de tu cuenta de {product}, y la misma solicitud ha llegado otra vez desde otra red u otro programa. Ocurre cuando un dispositivo cambia de red en ese momento o cuando alguien ha copiado las credenciales de esa sesión. Los detalles siguientes son los de la segunda solicitud.',
    },
  },
};
