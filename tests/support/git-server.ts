// git's own program for HTTP, as a response to a request.

import { spawn } from 'bun';

/** Serves the repositories below this directory. */
export async function serveGit(directory: string, request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const child = spawn(['git', 'http-backend'], {
    env: {
      PATH: process.env['PATH'] ?? '',
      GIT_PROJECT_ROOT: directory,
      GIT_HTTP_EXPORT_ALL: '1',
      REQUEST_METHOD: request.method,
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      CONTENT_TYPE: request.headers.get('Content-Type') ?? '',
      HTTP_CONTENT_ENCODING: request.headers.get('Content-Encoding') ?? '',
      HTTP_GIT_PROTOCOL: request.headers.get('Git-Protocol') ?? '',
      REMOTE_USER: 'ada',
      // The owner of a directory of a test is whoever runs it.
      HOME: directory,
    },
    stdin: await request.blob(),
    stderr: 'inherit',
  });
  const output = Buffer.from(await new Response(child.stdout).arrayBuffer());
  const end = output.indexOf('\r\n\r\n');
  const headers = output
    .subarray(0, end)
    .toString('latin1')
    .split('\r\n')
    .map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]);
  const status = headers.find(([name]) => name === 'Status')?.[1];
  return new Response(output.subarray(end + 4), {
    status: status === undefined ? 200 : Number.parseInt(status, 10),
    headers: headers.filter(([name]) => name !== 'Status'),
  });
}
