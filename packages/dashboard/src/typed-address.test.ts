import { expect, test } from 'bun:test';
import { typedAddress } from './typed-address.ts';

test('only what cannot be seen around an address is removed', () => {
  for (const character of ' \t\n\u00a0\u3000\u00ad\u200b\u200e\u2060\ufeff\u{e0020}')
    expect(typedAddress(`${character}\u200bAda@example.com ${character}`)).toBe('Ada@example.com');
  for (const address of ['\uff41da@example.com', 'a\u200bda@example.com', 'ada@ex\u00adample.com'])
    expect(typedAddress(address)).toBe(address);
  expect(typedAddress(' \u200b')).toBe('');
});
