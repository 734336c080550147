import type { AuthorizationResponse } from '@latchkey/contract/authorize';
import type { Problem } from '../api.ts';

/** Takes the browser to the client with a response. The service chose the address; a form keeps it out of the history. */
export function goBack(response: AuthorizationResponse): void {
  if ('redirect' in response) {
    location.replace(response.redirect);
    return;
  }
  const form = document.createElement('form');
  form.method = 'post';
  form.action = response.form_post.action;
  form.hidden = true;
  for (const [name, value] of Object.entries(response.form_post.fields)) {
    const field = document.createElement('input');
    field.type = 'hidden';
    field.name = name;
    field.value = value;
    form.append(field);
  }
  document.body.append(form);
  form.submit();
}

/** The response that a refusal of the service has for the client, if the error belongs to the client. */
export function responseIn({ body = {} }: Problem): AuthorizationResponse | undefined {
  const { redirect, form_post } = body as Partial<Record<string, never>>;
  if (redirect !== undefined) return { redirect };
  return form_post === undefined ? undefined : { form_post };
}
