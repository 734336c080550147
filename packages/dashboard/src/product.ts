const written = globalThis.document?.querySelector('meta[name="application-name"]')?.getAttribute('content');

/** What the service is called here. The service writes it into every page; unit tests have no page. */
export const productName: string = written ?? 'Latchkey';
