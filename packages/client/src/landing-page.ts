// The page that the browser shows at the end of a sign-in that a program on this machine started.

/** How the sign-in ended. */
export type LandingOutcome = 'signedIn' | 'denied' | 'failed';

const translations = {
  en: {
    signedIn: "You're signed in",
    denied: 'You denied the sign-in',
    failed: 'The sign-in failed. The terminal says why',
    close: 'You can close this tab.',
  },
  de: {
    signedIn: 'Sie sind angemeldet',
    denied: 'Sie haben die Anmeldung abgelehnt',
    failed: 'Die Anmeldung ist fehlgeschlagen. Der Grund steht im Terminal',
    close: 'Sie können diesen Tab schließen.',
  },
  fr: {
    signedIn: 'Vous êtes connecté',
    denied: 'Vous avez refusé la connexion',
    failed: 'La connexion a échoué. Le terminal indique pourquoi',
    close: 'Vous pouvez fermer cet onglet.',
  },
  es: {
    signedIn: 'Has iniciado sesión',
    denied: 'Has rechazado el inicio de sesión',
    failed: 'No se ha podido iniciar sesión. El terminal indica el motivo',
    close: 'Puedes cerrar esta pestaña.',
  },
  pt: {
    signedIn: 'Você está conectado',
    denied: 'Você recusou o acesso',
    failed: 'Não foi possível entrar. O terminal mostra o motivo',
    close: 'Você pode fechar esta aba.',
  },
  ja: {
    signedIn: 'ログインしました',
    denied: 'ログインを拒否しました',
    failed: 'ログインできませんでした。理由はターミナルに表示されています',
    close: 'このタブは閉じてかまいません。',
  },
} satisfies Record<string, Record<LandingOutcome | 'close', string>>;

const style =
  ':root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}body{display:grid;place-content:center;min-height:90vh;margin:0;padding:1rem;text-align:center}h1{font-size:1.5rem;margin:0}';

/** Allows nothing but the style of the page. `digest`: SHA-256 in Base64. */
export const landingPolicy = (digest: (text: string) => string): string =>
  `default-src 'none'; style-src 'sha256-${digest(style)}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** The page in the language that the browser prefers. It contains nothing from the request. */
export function landingPage(outcome: LandingOutcome, acceptLanguage = ''): string {
  const language = preferredLanguage(acceptLanguage);
  const texts = translations[language];
  return `<!doctype html>
<html lang="${language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${texts[outcome]}</title>
<style>${style}</style>
<body>
<main><h1>${texts[outcome]}</h1><p>${texts.close}</p></main>
</body>
</html>
`;
}

/** @see RFC 9110 section 12.5.4 */
function preferredLanguage(acceptLanguage: string): keyof typeof translations {
  const ranked = acceptLanguage
    .split(',')
    .map((part) => {
      const [range = '', ...parameters] = part.split(';').map((text) => text.trim());
      const quality = parameters.find((text) => /^q=/i.test(text))?.slice(2);
      const language = range.split('-')[0]?.toLowerCase() as keyof typeof translations;
      return { language, quality: quality === undefined ? 1 : Number(quality) };
    })
    .filter(({ language, quality }) => Object.hasOwn(translations, language) && quality > 0)
    .sort((one, other) => other.quality - one.quality);
  return ranked[0]?.language ?? 'en';
}
