import list from './aaguids.json' with { type: 'json' };

const names: ReadonlyMap<string, string> = new Map(Object.entries(list.names));

/** The name of a new passkey: the product that created it, when its AAGUID is in the list, else `Passkey`. */
export const defaultNameOf = (aaguid: string): string => names.get(aaguid) ?? 'Passkey';
