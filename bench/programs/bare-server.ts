// A minimal Bun server: answers every request with the same status, headers and body.

const { status, headers, body } = JSON.parse(process.env['ANSWER'] ?? '{}');

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.env['PORT']),
  development: false,
  fetch: () => new Response(body, { status, headers }),
});
