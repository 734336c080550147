import type { MailTexts } from './type.ts';

export const ptBr: MailTexts = {
  help: 'Ajuda',
  unknown: 'desconhecido',
  labelled: '{label}: {value}',
  quoted: '“{text}”',
  quotesExplained: 'O texto entre aspas vem do programa ou da pessoa e não foi verificado.',
  signIn: {
    subject: 'Entrar em {product}',
    openLink: 'Abra este link para entrar em {product}:',
    enterCode: 'Ou digite este código onde você começou a entrar:',
    once: 'Use um dos dois, uma única vez, em até {duration}. Nunca compartilhe o link nem o código com ninguém.',
    preheader: 'O link e o código funcionam uma única vez, em até {duration}.',
    notYou: 'Se você não solicitou este e‑mail, pode ignorá-lo.',
    requested: 'Data da solicitação',
    browser: 'Navegador',
    browserOn: '{browser} no {system}',
    ipAddress: 'Endereço IP',
  },
  emailChange: {
    subject: 'Confirme seu novo endereço para {product}',
    openLink:
      'Alguém pediu para usar este endereço de e‑mail na própria conta {product}. Se foi você, abra este link e confirme. Em um navegador não conectado à sua conta, também é necessário seu endereço atual:',
    link: 'Usar este endereço',
    expires:
      'O link funciona uma única vez e expira em {time}. Depois da confirmação, os e‑mails para entrar chegarão a este endereço.',
    notYou: 'Se não foi você, ignore este e‑mail. Nada muda a menos que alguém use o link.',
  },
  emailTaken: {
    subject: 'Alguém tentou usar seu endereço de e‑mail',
    what: 'Alguém conectado a outra conta {product} pediu para usar este endereço de e‑mail nela.',
    unchanged: 'Você tem uma conta com este endereço, ou tinha até pouco tempo atrás, por isso nada mudou.',
    wasYou:
      'Se foi você, entre primeiro na conta que tem este endereço e altere-o lá. Se não foi, você não precisa fazer nada.',
  },
  emailRestored: {
    subject: 'Este endereço foi removido de uma conta {product}',
    what: 'O titular do endereço anterior nos informou que não o trocou por este. A conta dele em {product} voltou a usar o endereço anterior, e todas as sessões dela foram encerradas.',
    owner:
      'Se a conta é sua, entre com o endereço anterior. Depois de entrar, você pode alterá-lo novamente.',
  },
  emailReturned: {
    subject: 'Sua conta {product} não usa mais este endereço',
    what: 'Sua conta {product} voltou a usar um endereço anterior. Os e‑mails para entrar e os avisos de segurança não chegam mais a este endereço.',
    owner: 'Se a conta é sua, entre com o endereço anterior e altere-o novamente se quiser.',
  },
  accountDeleted: {
    subject: 'Sua conta {product} foi excluída',
    what: 'Sua conta {product} foi excluída, com suas sessões, chaves de acesso, registro de segurança e vínculos com organizações. Não é possível restaurá-la.',
    next: 'Você pode se cadastrar novamente com este endereço; isso cria uma conta nova. Se você não excluiu a conta, fale com o administrador deste serviço e mude a senha do seu e‑mail.',
  },
  disowned: {
    subject: 'O que foi desfeito na sua conta {product}',
    what: 'Alguém usou o link “Não fui eu” de um aviso de segurança sobre sua conta {product}, enviado em {time}.',
    nothing: 'Não havia mais nada a desfazer: a sessão já estava encerrada e não tinha adicionado nada.',
    undone: 'Isto foi desfeito:',
    sessions: 'Sessões de navegador encerradas',
    devices: 'Dispositivos desconectados',
    device: 'Dispositivo',
    passkey: 'Chave de acesso removida',
    key: 'Chave de API removida',
    address: 'Endereço restaurado',
    othersContinue: 'Suas outras sessões não foram afetadas.',
    allEnded:
      'Como o endereço foi restaurado, todas as sessões da conta foram encerradas. Também foram removidas as chaves de acesso adicionadas desde a mudança e a que tenha sido usada na sessão que você não reconheceu.',
    review:
      'Entre e revise sua conta: remova as chaves de acesso e desconecte os dispositivos que você não reconhece.',
    notYou: 'Se não foi você, outra pessoa pode ler seus e‑mails: mude a senha do seu e‑mail.',
  },
  notice: {
    newAddress: 'Novo endereço',
    when: 'Data e hora',
    ipAddress: 'Endereço IP',
    device: 'Dispositivo',
    program: 'Programa',
    key: 'Chave de API',
    passkey: 'Chave de acesso',
    userAgent: 'User agent',
    wasYou: 'Se foi você, pode ignorar este e‑mail.',
    notYou: 'Se não foi você, abra este link e clique no botão da página. {undo}',
    link: 'Não fui eu',
    expires: 'Abrir o link por si só não muda nada. O link expira em {time}.',
  },
  digest: {
    what: 'Você recebeu muitos avisos deste tipo sobre sua conta {product} em uma hora. Este e‑mail lista os demais, do mais recente ao mais antigo.',
    wasYou: 'Se foi você em todos os casos, pode ignorar este e‑mail.',
    notYou:
      'Se algum deles não foi você, abra o link logo abaixo dele e clique no botão da página. {undo} Abrir um link por si só não muda nada. O primeiro destes links expira em {time}.',
    more: {
      one: 'Mais {count} aviso aparece somente no registro de segurança da página da sua conta.',
      many: 'Mais {count} de avisos aparecem somente no registro de segurança da página da sua conta.',
      other: 'Mais {count} avisos aparecem somente no registro de segurança da página da sua conta.',
    },
  },
  undo: {
    session:
      'Isso encerra essa sessão e desfaz tudo o que ela adicionou: chaves de acesso, chaves de API, dispositivos aprovados, uma mudança de e‑mail e as sessões criadas a partir deles. Se essa sessão foi iniciada com uma chave de acesso, a chave também é removida, e todas as sessões iniciadas com ela são encerradas.',
    device: '{session} Depois, a página oferece encerrar também a sessão que aprovou o dispositivo.',
    passkey: '{session} A chave de acesso removida não é restaurada; você pode adicioná-la novamente.',
    key: '{session} A chave de API removida não é restaurada; você pode criar uma nova.',
    app: '{session} Em seguida, a página permite encerrar também a sessão que aprovou o aplicativo.',
    address:
      'Isso restaura este endereço e encerra todas as sessões da conta. Também remove as chaves de acesso adicionadas desde a mudança e a que tenha sido usada para iniciar a sessão que a fez.',
    theft:
      'Isso desfaz tudo o que essa sessão adicionou: chaves de acesso, chaves de API, dispositivos aprovados, uma mudança de e‑mail e as sessões criadas a partir deles. Se essa sessão foi iniciada com uma chave de acesso, a chave também é removida, e todas as sessões iniciadas com ela são encerradas.',
  },
  notices: {
    new_device: {
      subject: 'Novo dispositivo conectado à sua conta {product}',
      digestSubject: 'Mais dispositivos novos conectados à sua conta {product}',
      what: 'Um novo dispositivo foi conectado à sua conta {product}. Alguém conectado à sua conta o aprovou.',
    },
    new_browser: {
      subject: 'Novo acesso à sua conta {product}',
      digestSubject: 'Mais acessos novos à sua conta {product}',
      what: 'Alguém entrou na sua conta {product} com um navegador e uma rede que ainda não tinham sido usados juntos.',
    },
    new_app: {
      subject: 'Aplicativo conectado à sua conta {product}',
      digestSubject: 'Mais aplicativos conectados à sua conta {product}',
      what: 'Um aplicativo foi conectado à sua conta {product}. Alguém conectado à sua conta o aprovou, ou um administrador o permite para todos.',
    },
    passkey_added: {
      subject: 'Uma chave de acesso foi adicionada à sua conta {product}',
      digestSubject: 'Mais chaves de acesso foram adicionadas à sua conta {product}',
      what: 'Uma chave de acesso foi adicionada à sua conta {product}. Quem a tiver pode entrar na sua conta.',
    },
    passkey_removed: {
      subject: 'Uma chave de acesso foi removida da sua conta {product}',
      digestSubject: 'Mais chaves de acesso foram removidas da sua conta {product}',
      what: 'Uma chave de acesso foi removida da sua conta {product}. Você não pode mais entrar com ela.',
    },
    key_added: {
      subject: 'Uma chave de API foi criada para sua conta {product}',
      digestSubject: 'Mais chaves de API foram criadas para sua conta {product}',
      what: 'Uma chave de API foi criada para sua conta {product}. Um programa que a tenha pode agir em seu nome, dentro do que a chave permite, até ela expirar.',
    },
    key_removed: {
      subject: 'Uma chave de API da sua conta {product} foi removida',
      digestSubject: 'Mais chaves de API da sua conta {product} foram removidas',
      what: 'Uma chave de API da sua conta {product} foi removida. Os programas que a usam não podem mais agir em seu nome.',
    },
    email_changed: {
      subject: 'O e‑mail da sua conta {product} foi alterado',
      digestSubject: 'O e‑mail da sua conta {product} foi alterado novamente',
      what: 'O e‑mail da sua conta {product} foi alterado. Os links para entrar e os avisos de segurança não chegam mais a este endereço.',
    },
    theft_stopped: {
      subject: 'Uma sessão da sua conta {product} foi encerrada porque o token dela foi usado duas vezes',
      digestSubject:
        'Mais sessões da sua conta {product} foram encerradas porque os tokens delas foram usados duas vezes',
      what: 'Um token de uma sessão da sua conta {product} foi usado pela segunda vez, o que pode significar que alguém o copiou. Encerramos essa sessão; suas outras sessões não foram afetadas. Entre novamente onde precisar.',
    },
    refresh_repeated_elsewhere: {
      subject: 'Uma sessão da sua conta {product} foi usada em dois lugares',
      digestSubject: 'Mais sessões da sua conta {product} foram usadas em dois lugares',
      what: 'Um programa renovou uma sessão da sua conta {product}, e a mesma solicitação chegou novamente de outra rede ou de outro programa. Isso acontece quando um dispositivo muda de rede nesse momento ou quando alguém copiou as credenciais dessa sessão. Os detalhes abaixo são os da segunda solicitação.',
    },
  },
};
