// A certificate for services on this machine, which a program trusts that is told to.

import { join } from 'node:path';
import { spawnSync } from 'bun';
import { temporaryDirectory } from './service.ts';

/** A new certificate for 127.0.0.1, which signs itself, and its key: paths of PEM files. */
export function newCertificate(): { readonly cert: string; readonly key: string } {
  const directory = temporaryDirectory();
  const [cert, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  const name = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const made = spawnSync([
    ...['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
    ...['-days', '2', '-keyout', key, '-out', cert, ...name],
  ]);
  if (!made.success) throw new Error(made.stderr.toString());
  return { cert, key };
}
