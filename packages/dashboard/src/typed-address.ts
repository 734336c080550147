const invisible = '[\\s\\p{Cf}\\p{Default_Ignorable_Code_Point}]+';
const aroundText = new RegExp(`^${invisible}|${invisible}$`, 'gu');

/** A typed or pasted address, without the spaces and invisible characters around it. */
export const typedAddress = (typed: string): string => typed.replaceAll(aroundText, '');
