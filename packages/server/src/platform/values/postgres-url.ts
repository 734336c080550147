/** `postgres://user:password@`, the hosts with their ports, and the database with its options. */
const parts = /^(postgres(?:ql)?:\/\/(?:[^/?@]*@)?)([^/?]*)(.*)$/;

/** The addresses of the servers that a URL names, as `postgres://…@one:5432,two:5432/database` does. */
export function postgresServers(url: string): readonly string[] {
  const [, start = '', hosts = '', rest = ''] = parts.exec(url) ?? [];
  return hosts.includes(',') ? hosts.split(',').map((host) => start + host + rest) : [url];
}
