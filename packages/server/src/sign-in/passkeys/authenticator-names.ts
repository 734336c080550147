import list from './aaguids.json' with { type: 'json' };

const names: ReadonlyMap<string, string> = new Map(Object.entries(list.names));

/** What a passkey is called until somebody gives it a name: the product that made it, if it tells. */
export const defaultNameOf = (aaguid: string): string => names.get(aaguid) ?? 'Passkey';
