const { server } = await (await fetch('/settings')).json();
const element = (id) => document.getElementById(id);

/** Calls Latchkey with the session cookie, which the browser adds and no script can read. */
async function latchkey(method, path, body) {
  const response = await fetch(`${server}/api/v1/auth${path}`, {
    method,
    body: body instanceof URLSearchParams ? body : JSON.stringify(body),
    headers: body instanceof URLSearchParams ? {} : { 'Content-Type': 'application/json' },
    credentials: 'include',
  });
  if (response.status === 204) return undefined;
  const answer = await response.json();
  if (response.ok) return answer;
  throw Object.assign(new Error(answer.error_description), { code: answer.error });
}

/** A token that can only read projects, for the server of this page. It ends with the session. */
async function projectsToken() {
  const grant_type = 'urn:ietf:params:oauth:grant-type:token-exchange';
  const form = new URLSearchParams({ grant_type, scope: 'projects:read' });
  return (await latchkey('POST', '/token', form)).access_token;
}

async function showPage() {
  const user = await latchkey('GET', '/me').catch((error) => {
    if (error.code !== 'invalid_token') throw error;
  });
  element('signed-out').hidden = user !== undefined;
  element('signed-in').hidden = user === undefined;
  if (!user) return;
  element('email').textContent = user.email;
  const projects = await fetch('/projects', {
    headers: { Authorization: `Bearer ${await projectsToken()}` },
  });
  element('projects').textContent = await projects.text();
}

let request;
const actions = {
  ask: async (form) => {
    ({ request } = await latchkey('POST', '/magic_link', { email: form.email.value }));
  },
  enter: async (form) => {
    await latchkey('POST', '/magic_link/verify?session=cookie', { request, code: form.code.value });
    await showPage();
  },
  passkey: async () => {
    const options = await latchkey('POST', '/passkey/login/challenge');
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
    const credential = await navigator.credentials.get({ publicKey });
    await latchkey('POST', '/passkey/login?session=cookie', credential.toJSON());
    await showPage();
  },
  'sign-out': async () => {
    await latchkey('DELETE', '/logout?scope=session');
    await showPage();
  },
};

const tell = (error) => {
  element('message').textContent = error.message;
};
for (const [id, action] of Object.entries(actions)) {
  element(id).addEventListener(element(id).matches('form') ? 'submit' : 'click', (event) => {
    event.preventDefault();
    element('message').textContent = '';
    action(event.currentTarget).catch(tell);
  });
}
await showPage().catch(tell);
