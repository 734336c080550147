import { join } from 'node:path';
import { spawnSync } from 'bun';
import { temporaryDirectory } from './service.ts';

/** A new certificate for this machine, which signs itself, and its key: paths of PEM files in a directory of their own. */
export function newCertificate(): {
  readonly directory: string;
  readonly cert: string;
  readonly key: string;
} {
  const directory = temporaryDirectory();
  const [cert, key] = [join(directory, 'fullchain.pem'), join(directory, 'privkey.pem')];
  const made = spawnSync([
    ...['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
    ...['-days', '2', '-keyout', key, '-out', cert, '-subj', '/CN=localhost'],
    ...['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'],
  ]);
  if (!made.success) throw new Error(made.stderr.toString());
  return { directory, cert, key };
}
