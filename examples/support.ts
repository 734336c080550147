import { LatchkeyError } from '@latchkey/client/errors';
import { createOperator } from '@latchkey/client/operator';

const { LATCHKEY_SERVER = 'http://localhost:8787', OPERATOR_KEY = '' } = process.env;

async function help(address: string, act: string): Promise<void> {
  const operator = createOperator({ server: LATCHKEY_SERVER, serviceKey: OPERATOR_KEY });
  const found = await operator.report(address);
  if (found.user && act === 'sign-out') await operator.endAllSessions(found.user.id);
  if (found.user && act === 'disable') await operator.disable(found.user.id);
  if (found.user && act === 'enable') await operator.enable(found.user.id);

  const { user, sign_up_allowed, emails, passkeys, keys, organizations } = await operator.report(address);
  if (user) console.log(`${user.email} (${user.name}), ${user.disabled ? 'disabled' : 'active'}`);
  else console.log(`no account; signing up is ${sign_up_allowed ? 'allowed' : 'not allowed'}`);
  for (const { kind, to, outcome, created_at } of emails)
    console.log(`email: ${kind} to ${to}, ${outcome}, ${created_at}`);
  for (const { name, last_used_at } of passkeys) console.log(`passkey: ${name}, used ${last_used_at}`);
  for (const { name, expires_at } of keys) console.log(`key: ${name}, expires ${expires_at}`);
  for (const { name, role } of organizations) console.log(`organization: ${name} (${role})`);
  if (!user) return;
  for await (const { kind, ip_address, last_used_at } of operator.sessions(user.id))
    console.log(`session: ${kind} at ${ip_address}, used ${last_used_at}`);
  for await (const { type, created_at, detail } of operator.events(user.id))
    console.log(`event: ${type} ${JSON.stringify(detail)}, ${created_at}`);
}

const [address = '', act = 'show'] = process.argv.slice(2);
try {
  await help(address, act);
} catch (error) {
  if (!(error instanceof LatchkeyError || error instanceof TypeError)) throw error;
  console.error(`support: ${error.message}`);
  process.exitCode = 1;
}
