// auth0.ts FILE: prints the users of an Auth0 export (newline-delimited JSON) as lines for `latchkey-server users import`.

interface User {
  readonly email?: string;
  readonly email_verified?: boolean;
  /** Auth0 puts the address here if it knows no name. */
  readonly name?: string;
  readonly blocked?: boolean;
}

const text = await Bun.file(process.argv[2] ?? '').text();
let left = 0;
for (const line of text.split('\n').filter((one) => one.trim() !== '')) {
  const { email, email_verified, name, blocked } = JSON.parse(line) as User;
  if (!email || !email_verified || blocked) {
    left++;
    continue;
  }
  console.log(JSON.stringify({ email, ...(name && name !== email ? { name } : {}) }));
}
console.error(`${left} left out: blocked, without an address, or with one that was never confirmed`);
