import type { Texts } from './type.ts';

export const ptBr: Texts = {
  frame: {
    help: 'Ajuda',
    needsScript: 'Esta página precisa de JavaScript.',
    loadError: 'Não foi possível carregar esta página por completo. Tente recarregá-la.',
    notFound: {
      title: 'Página não encontrada',
      text: 'Não há página neste endereço. Confira a URL ou vá para sua conta.',
    },
  },
  common: {
    busy: 'Um momento…',
    sentences: '{first} {second}',
    forDevelopers: 'Para desenvolvedores',
    toAccount: 'Ir para sua conta',
    loading: 'Carregando…',
    tryAgain: 'Tentar novamente',
    continue: 'Continuar',
    cancel: 'Cancelar',
    stay: 'Ficar nesta página',
    unanswerable: 'Não é possível responder a esta solicitação',
    showMore: 'Mostrar mais',
    signIn: 'Entrar',
    signOut: 'Sair',
    signedIn: 'Você entrou.',
    signedOut: 'Você saiu da conta',
    signedInAs: 'Você entrou como {email}',
    unknown: 'Desconhecido',
    notProvided: 'Não informado',
    quotesExplained: 'O texto entre aspas é informado por quem faz a solicitação e não foi verificado.',
    browserOn: '{browser} no {system}',
    ipAddress: 'Endereço IP',
    userAgent: 'User agent',
    program: 'Programa',
    device: 'Dispositivo',
    justNow: 'agora mesmo',
    inAMoment: 'em instantes',
    emailAddress: 'Endereço de e‑mail',
    enterEmailAddress: 'Digite seu endereço de e‑mail.',
    emailCode: 'Código do e‑mail',
    enterEmailCode: 'Digite o código do e‑mail.',
    newEmail: 'Enviar um novo e‑mail',
    otherEmail: 'Usar outro endereço de e‑mail',
    otherAccount: 'Usar outra conta',
    everything: 'Tudo o que você pode fazer',
    nothing: 'Nada na sua conta',
    scopes: {
      profile: 'Ver seu nome, foto, idioma e fuso horário',
      email: 'Ver seu endereço de e‑mail',
      organizations: 'Ver de quais organizações você faz parte e sua função em cada uma',
      identity: 'Provar a outros sistemas que age em seu nome',
    },
  },
  errors: {
    unreachable:
      'Não foi possível acessar {product}. Verifique sua conexão e tente novamente. O que você digitou continua aqui.',
    unreachableShort: 'Não foi possível acessar {product}. Verifique sua conexão e tente novamente.',
    unavailable: '{product} não está disponível no momento.',
    tooMany: 'Muitas tentativas.',
    signedOut: 'Você saiu da conta. Entre novamente para continuar.',
    notConfirmed: 'Nada foi alterado. Confirme sua identidade para fazer esta alteração.',
    somebodyElse:
      'Nada foi alterado, porque este navegador agora está em outra conta. Recarregue a página para continuar.',
    brieflySomebodyElse:
      'Nada foi alterado, porque este navegador esteve por um momento em outra conta. Tente novamente.',
    disabled: 'Esta conta foi desativada. Fale com o administrador para reativá-la.',
    noSignUp: 'Não há conta para este e‑mail, e não é possível criar contas novas aqui.',
    wrongUrl: 'Esta página foi aberta em uma URL que não é aceita por {product}. Abra-a pela URL correta.',
    cookiesOff:
      'Seu navegador está bloqueando os cookies, que são necessários para entrar. Permita cookies para este site e recarregue a página.',
    unexpected: 'Algo deu errado do nosso lado. Tente novamente em instantes.',
    tryAgainIn: 'Tente novamente em {duration}.',
    tryAgainAt: 'Tente novamente em {duration}, às {time}.',
    tryAgainAfter: 'Tente novamente depois de {time}.',
    tooManyEmails:
      'Muitos e‑mails solicitados, por isso ainda não podemos enviar outro. Os e‑mails anteriores continuam funcionando.',
    notAnAddress: 'Isso não parece um endereço de e‑mail. Use o formato ada@example.com.',
    notACode: 'Esse código não é válido. Os códigos têm oito letras, como BCDF-GHJK.',
    notAnEmailCode: 'Esse código não é válido. Os códigos dos e‑mails têm oito dígitos, como 1234-5678.',
    deviceCode:
      'Esse é o código do seu dispositivo. Digite primeiro os oito dígitos do e‑mail. Você poderá aprovar o dispositivo depois de entrar.',
    wrongEmailCode:
      'Esse código não funcionou. Verifique se ele é do e‑mail mais recente. Se for, talvez tenha expirado: envie um novo e‑mail.',
    passkeys: {
      unsupported: 'Este navegador não oferece suporte a chaves de acesso.',
      noAuthenticator:
        'Este dispositivo não tem bloqueio de tela, impressão digital nem reconhecimento facial configurado para chaves de acesso. Tente com um celular, uma chave de segurança ou um gerenciador de senhas.',
      cancelled: 'A solicitação da chave de acesso foi cancelada ou expirou. Tente novamente.',
      failed:
        'Seu navegador não conseguiu usar uma chave de acesso aqui. Tente novamente ou use outro navegador.',
      alreadyThere: 'Este dispositivo já tem uma chave de acesso para esta conta. Você pode entrar com ela.',
    },
    passkeySignIn: {
      noAuthenticator:
        'Não há neste dispositivo uma chave de acesso que você possa usar aqui. Use seu celular, uma chave de segurança ou o e‑mail.',
      refused: 'Essa chave de acesso não funcionou. Tente novamente ou use o e‑mail.',
      unknown: 'Essa chave de acesso não está mais registrada. Use outra ou use o e‑mail.',
    },
  },
  login: {
    noPassword: 'Não é preciso ter senha.',
    deviceWaiting: 'Um dispositivo está aguardando com este código. Entre para revisar a solicitação.',
    programWaiting: 'Um programa está aguardando você entrar.',
    or: 'ou',
    withPasskey: 'Entrar com chave de acesso',
    emailLink: 'Receber um link por e‑mail',
    alreadySent:
      'Já enviamos um e‑mail para {email}. Você pode abrir o link dele aqui ou solicitar um novo e‑mail para digitar um código.',
    checkEmail: 'Confira seu e‑mail',
    sent: 'Enviamos um e‑mail para {email}. Abra o link ou digite o código aqui. Os dois expiram em {time}.',
    sentAgain: 'Enviamos um novo e‑mail. Use o código do mais recente.',
    expired: 'O e‑mail que enviamos para {email} expirou. O link e o código não funcionam mais.',
    openWebmail: 'Abrir {webmail}',
    signedIn: 'Você entrou',
    signedInAs: 'Você entrou como {email}.',
    signedInElsewhere: 'Você entrou como {email} em outra aba. Feche esta ou continue aqui.',
    signedOut: 'Você saiu da conta.',
    signedOutEverywhere: 'Você saiu de todas as sessões, inclusive nos seus dispositivos.',
    deleted: 'Sua conta foi excluída.',
  },
  magicLink: {
    requestedHere: 'Você solicitou este link neste navegador.',
    signInAs: 'Entrar como {email}',
    where: 'Onde você quer entrar?',
    here: 'Neste navegador',
    hereText: 'Digite o endereço de e‑mail para o qual o link foi enviado.',
    there: 'Onde você o solicitou',
    thereText:
      'Volte para aquela página e digite lá o código do mesmo e‑mail. Depois, você pode fechar esta página.',
    wrongAddress: 'Este link não foi enviado para {email}. Confira o endereço ou solicite um novo link.',
    newLink: 'Solicitar um novo link',
    dead: 'Este link não funciona mais',
    deadText:
      'Ele expirou, foi usado ou você entrou de outra forma desde então. Cada link funciona uma única vez.',
    used: 'Você já usou este link',
    usedText: 'Com ele você entrou neste navegador.',
  },
  emailLink: {
    incomplete: 'Este link está incompleto',
    incompleteText:
      'Falta uma parte do link. Abra-o novamente a partir do e‑mail ou copie o link inteiro. Cada link funciona uma única vez.',
    unchanged: 'Nada foi alterado',
  },
  verifyEmail: {
    heading: 'Confirme seu novo e‑mail',
    ownerText:
      'O e‑mail da sua conta {product} vai mudar de {old} para {new}. Você usará o novo para entrar.',
    anyoneText:
      'Continue somente se você solicitou esta alteração. Para confirmar que a conta é sua, digite o e‑mail atual dela ou abra este link em um navegador conectado à sua conta.',
    currentEmail: 'Endereço de e‑mail atual',
    decline: 'Não alterar',
    declined:
      'Você pode fechar esta página. Se não solicitou esta alteração, não há mais nada a fazer. Se mudar de ideia, o link do e‑mail funciona até expirar.',
    confirm: 'Alterar e‑mail',
    done: 'E‑mail alterado',
    doneText:
      'A partir de agora, os e‑mails para entrar chegam a {email}. Enviamos um aviso ao endereço anterior. Por ele, a alteração pode ser desfeita durante {duration}.',
    conflict: 'Outra conta {product} usa este e‑mail, por isso nada foi alterado.',
    tooMany: 'Muitas tentativas da sua rede.',
    ownerRefused:
      'Este link não funciona mais. Ele foi usado, expirou ou foi substituído por um mais recente, ou você saiu da conta. A página da sua conta mostra seu e‑mail atual.',
    anyoneRefused:
      'Não funcionou. Verifique se você digitou o e‑mail atual da conta. Se digitou, o link foi usado, expirou ou foi substituído por um mais recente, ou a sessão que o solicitou foi encerrada. Um link deixa de funcionar depois de 5 tentativas erradas.',
  },
  notMe: {
    heading: 'Foi você?',
    text: 'Se não foi, vamos encerrar a sessão mencionada no e‑mail e desfazer tudo o que ela adicionou: chaves de acesso, chaves de API, dispositivos aprovados, uma mudança de e‑mail e as sessões criadas a partir deles. Se a sessão foi iniciada com uma chave de acesso, também vamos remover a chave e encerrar todas as sessões iniciadas com ela. Suas outras sessões continuam ativas, a menos que seu e‑mail precise ser restaurado: nesse caso, todas são encerradas.',
    decline: 'Fui eu',
    declined: 'Você pode fechar esta página. Se mudar de ideia, o link do e‑mail funciona até expirar.',
    confirm: 'Não fui eu',
    done: 'Obrigado por nos avisar',
    refused: 'Este link expirou ou está incompleto. Entre e revise sua conta.',
    conflict:
      'Outra conta agora usa seu e‑mail anterior, por isso ele não pôde ser restaurado e nada foi alterado. Fale com o administrador.',
    ended: {
      new_device: 'O dispositivo foi desconectado.',
      new_app: 'O aplicativo foi desconectado.',
      session: 'A sessão foi encerrada, e tudo o que ela adicionou foi removido.',
      passkey_removed:
        'A chave de acesso removida não pode ser restaurada. Você pode adicioná-la novamente na sua conta.',
      key_removed: 'A chave de API removida não pode ser restaurada. Você pode criar uma nova na sua conta.',
      theft_stopped: 'A sessão já estava encerrada. Tudo o que ela adicionou foi removido.',
    },
    othersEnded: 'Todas as suas outras sessões também foram encerradas.',
    undone: 'O que foi desfeito',
    nothingUndone: 'Não havia mais nada a desfazer. A sessão já estava encerrada e não deixou nada.',
    restored: 'Seu e‑mail voltou a ser {email}',
    browsers: {
      one: '{count} sessão de navegador encerrada',
      many: '{count} de sessões de navegador encerradas',
      other: '{count} sessões de navegador encerradas',
    },
    devices: {
      one: '{count} dispositivo desconectado',
      many: '{count} de dispositivos desconectados',
      other: '{count} dispositivos desconectados',
    },
    passkeys: {
      one: '{count} chave de acesso removida',
      many: '{count} de chaves de acesso removidas',
      other: '{count} chaves de acesso removidas',
    },
    keys: {
      one: '{count} chave de API removida',
      many: '{count} de chaves de API removidas',
      other: '{count} chaves de API removidas',
    },
    named: '{what}: {names}',
    approver: 'Quem aprovou o dispositivo?',
    approverText: 'Ele foi aprovado em um navegador conectado à sua conta. Essa sessão continua ativa:',
    signedIn: 'Acesso',
    browser: 'Navegador',
    approverReopen:
      'Se isso também não foi você, abra novamente o link do e‑mail para encerrar esta sessão também.',
    approverQuestion: 'Se isso também não foi você, encerre esta sessão e remova tudo o que ela adicionou.',
    endApprover: 'Encerrar esta sessão também',
    approverEnded:
      'A sessão que aprovou o dispositivo também foi encerrada, e tudo o que ela adicionou foi removido.',
    next: 'O que fazer agora',
    changePassword:
      'Mude a senha do seu e‑mail se outra pessoa puder conhecê-la. Quem pode ler seus e‑mails pode entrar na sua conta.',
    review:
      'Revise {account}. Remova as chaves de acesso e encerre as sessões que você não reconhece. Na dúvida, saia de todas as sessões.',
    yourAccount: 'sua conta',
    neverApprove: 'Nunca aprove nem digite um código que outra pessoa enviou para você.',
  },
  device: {
    heading: 'Conectar um dispositivo',
    enterText:
      'Digite o código que aparece no seu dispositivo. Você pode revisar a solicitação antes de aprová-la.',
    code: 'Código do seu dispositivo',
    enterCode: 'Digite o código que aparece no seu dispositivo.',
    unknownCode:
      'Nenhum dispositivo está aguardando com este código. Se você acabou de aprová-lo ou negá-lo, está tudo certo. Se não, confira o código no seu dispositivo. Se for o mesmo, comece novamente por lá.',
    noLongerOffered:
      'Um serviço não oferece mais algo que o dispositivo pediu. Comece novamente no seu dispositivo.',
    codeExpired: 'Este código expirou. Comece novamente no seu dispositivo.',
    approvalInDoubt:
      'Este código não está mais aguardando aprovação. Confira seu dispositivo: talvez ele já esteja conectado ou o acesso tenha sido cancelado lá.',
    sessions: 'Ver suas sessões',
    question: 'Permitir que este dispositivo acesse sua conta?',
    compare: 'Verifique se este código é igual ao do seu dispositivo:',
    expiresIn: 'Expira em {time}',
    warning: 'Aprove somente se foi você quem acabou de iniciar este acesso.',
    warningText:
      'Se alguém enviou um código ou um link para você, ao aprovar, você dará a essa pessoa acesso à sua conta.',
    otherNetwork:
      'A solicitação vem de outra rede: isso só é esperado se o dispositivo não estiver com você, como um servidor remoto.',
    approve: 'Aprovar',
    deny: 'Negar',
    network: 'Rede',
    sameNetwork: 'A mesma que a sua',
    differentNetwork: 'Diferente da sua',
    details: 'Detalhes',
    requested: 'Data da solicitação',
    access: 'Se você aprovar, este dispositivo pode',
    notOffered: '{scope} (não é mais oferecido)',
    onlyWith: 'Somente com {service}, em {resource}',
    oneService: 'um único serviço',
    approved: 'Aprovado',
    withdrawn: 'Aprovação revogada',
    byMistake: 'Aprovou por engano?',
    withdraw: 'Revogar aprovação',
    confirm: 'Digite este código no seu dispositivo. Ele é mostrado apenas uma vez.',
    confirmNever:
      'Digite-o somente no dispositivo à sua frente. Nunca o informe a ninguém: quem pede esse código quer acessar sua conta.',
    confirmImpossible:
      'Este dispositivo está em outra rede e não pode pedir um código de confirmação. Você só pode aprová-lo a partir da rede dele.',
    skipEmail: 'Da próxima vez, dispense o e‑mail: {addPasskey}.',
    addPasskey: 'adicione uma chave de acesso',
    denied: 'Negado',
    deniedText: 'Você negou esta solicitação. O dispositivo não foi conectado.',
    deniedNext: 'Você pode fechar esta janela. Se não iniciou este acesso, não há mais nada a fazer.',
    status: {
      waiting: 'Aguardando seu dispositivo concluir a conexão…',
      unreachable:
        'Aguardando seu dispositivo concluir a conexão… {product} não está respondendo no momento. Esta página vai continuar tentando.',
      deviceSignedIn: 'Seu dispositivo está conectado. Você pode fechar esta janela.',
      sessionEnded: 'Seu dispositivo foi conectado, mas já foi desconectado.',
      withdrawn: 'Seu dispositivo não foi conectado.',
      cancelled: 'O acesso foi cancelado no seu dispositivo, que não foi conectado.',
      expired:
        'Seu dispositivo não concluiu a conexão antes que o código expirasse. Comece novamente no seu dispositivo.',
      signedOut:
        'Você saiu da conta neste navegador, por isso esta página não consegue saber se seu dispositivo foi conectado. Confira seu dispositivo: se ele não estiver conectado, comece novamente por lá.',
      differentUser:
        'Este navegador agora está em outra conta, por isso esta página não consegue saber se seu dispositivo foi conectado. Confira seu dispositivo: se ele não estiver conectado, comece novamente por lá.',
      unknown:
        'Esta página não consegue saber se seu dispositivo foi conectado. Confira seu dispositivo: se ele não estiver conectado, comece novamente por lá.',
    },
  },
  authorize: {
    heading: 'Entrar em um programa',
    question: 'Permitir que {program} use sua conta {product}?',
    kind: 'Tipo',
    kinds: {
      command_line: 'Linha de comando',
      service: 'Aplicativo registrado',
      external: 'Programa externo',
    },
    host: 'Host',
    goesBackTo: 'Volta para',
    thisComputer: 'Um programa neste computador',
    warningText: 'Se alguém enviou a você um link para esta página, negue a solicitação.',
    loopbackText: 'Qualquer programa neste computador poderia se passar por {program}.',
    externalText: 'O que há em {host} não foi verificado.',
    access: 'Se você aprovar, este programa poderá',
    approvedText: 'Volte ao programa. Se ele ainda estiver aguardando, comece novamente por lá.',
    deniedText: 'Você negou esta solicitação. O programa não foi conectado.',
    unknownText:
      '{product} não conhece o programa que trouxe você até aqui, ou o endereço em que ele espera a resposta. Nada foi enviado. Comece novamente no programa.',
    refused: 'Não é possível aprovar esta solicitação',
    refusedText: '{host} solicitou algo que não é permitido. Volte para continuar por lá.',
    goBack: 'Voltar para {host}',
    goBackToProgram: 'Voltar ao programa',
  },
  signOut: {
    question: 'Sair de {product}?',
    text: 'Você sairá da conta neste navegador e no aplicativo que trouxe você até aqui.',
    stay: 'Continuar conectado',
    doneText: 'Você pode fechar esta janela.',
    refusedText:
      '{product} não conhece o aplicativo que trouxe você até aqui, ou o endereço para o qual ele volta. Sua sessão continua ativa.',
  },
  confirm: {
    title: 'Confirme que é você',
    text: 'Faz algum tempo que você entrou. Para continuar, entre novamente como {email}. Você não sairá desta página.',
    usePasskey: 'Usar uma chave de acesso',
    wrongPasskey: 'Essa chave de acesso não é de {email}. Escolha outra ou use o e‑mail.',
    emailCode: 'Receber código por e‑mail',
    sent: 'Enviamos um código para {email}. Ele expira em {duration}.',
    confirm: 'Confirmar',
    otherUser: 'Você entrou em outra conta',
    otherUserText:
      'Este navegador agora está na conta {email}, mas esta página ainda mostra a conta de {shown}. Sua última alteração não foi feita.',
    reload: 'Recarregar página',
  },
};
