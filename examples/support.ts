import { createOperator } from '@latchkey/client/operator';

const { LATCHKEY_SERVER = 'http://localhost:8787', OPERATOR_KEY = '' } = process.env;
const operator = createOperator({ server: LATCHKEY_SERVER, serviceKey: OPERATOR_KEY });

const [address = '', act = 'show'] = process.argv.slice(2);
const user = await operator.findUser(address);
if (act === 'sign-out') await operator.endAllSessions(user.id);
if (act === 'disable') await operator.disable(user.id);
if (act === 'enable') await operator.enable(user.id);

const { email, name, disabled } = await operator.getUser(user.id);
console.log(`${email} (${name}), ${disabled ? 'disabled' : 'active'}`);
for await (const { kind, ip_address, last_used_at } of operator.sessions(user.id)) {
  console.log(`session: ${kind} at ${ip_address}, used ${last_used_at}`);
}
for await (const { kind, to, outcome, created_at } of operator.emails(user.id)) {
  console.log(`email: ${kind} to ${to}, ${outcome}, ${created_at}`);
}
for await (const { type, created_at, detail } of operator.events(user.id)) {
  console.log(`event: ${type} ${JSON.stringify(detail)}, ${created_at}`);
}
