// Responses as the service sends them, for tests without one.

/** A response with this body of JSON. */
export const responds = (body: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  Response.json(body, { status, headers: { 'X-Request-Id': 'r', ...headers } });

/** A refusal with this error code. @param more further members of its body */
export const refuses = (error: string, status = 400, headers = {}, more: object = {}): Response =>
  responds({ error, error_description: '.', request_id: 'r', ...more }, status, headers);
