// Values that programs tend to mishandle. Every text contains the marker, so that a log line that quotes input is found.

import type { Random } from '#support/random.ts';

/** Part of every hostile text. No log line may contain it. */
export const marker = 'hOsTiLe';

const texts: readonly string[] = [
  marker,
  `${marker}\u0000`,
  `${marker}\r\nSet-Cookie: x=1`,
  `\u202e${marker}\u2066`,
  `${marker}\u{1F680}\u{E0041}`,
  `${marker}\ud800`,
  `e\u0301${marker}\ufb01\u212a`,
  `<script>${marker}</script>`,
  `'; DROP TABLE users; -- ${marker}`,
  `\${jndi:ldap://${marker}}`,
  `../../../../etc/passwd ${marker}`,
  `%00%0d%0a${marker}`,
  `${marker}@example.com`,
  `"${marker} x"@example.com`,
  `${marker}@[127.0.0.1]`,
  `https://${marker}@example.com:99999/`,
  `javascript:alert('${marker}')`,
  ` ${marker} `,
  `${marker}\u00a0\u200b`,
  `org.${marker}.__proto__`,
];

const tokenPrefixes = [
  ...['lk_at_', 'lk_rt_', 'lk_dc_', 'lk_ml_', 'lk_mr_', 'lk_ec_', 'lk_ak_', 'lk_ac_', 'lk_nm_', 'lk_sk_'],
  ...['ses_', 'usr_', 'svc_', 'key_', 'pk_', 'org_'],
];

/** A text of any length up to `maxLength`, more often short than long. */
export function hostileText(random: Random, maxLength = 70_000): string {
  if (random.oneIn(4)) return random.pick(tokenPrefixes) + marker + 'A'.repeat(random.below(90));
  if (random.oneIn(12)) return marker.repeat(random.below(maxLength / marker.length) + 1);
  return random.pick(texts);
}

const numbers = ['0', '-0', '1e400', '-1', '1.5', '9007199254740993', '1e-320', '00', '0x10', 'NaN', '1_000'];

/** JSON text, valid or not, nested up to `depth`. */
export function hostileJson(random: Random, depth = 3): string {
  if (depth > 0 && random.oneIn(4))
    return `[${Array.from({ length: random.below(5) }, () => hostileJson(random, depth - 1)).join(',')}]`;
  if (depth > 0 && random.oneIn(4)) {
    const members = Array.from(
      { length: random.below(4) },
      () => `${JSON.stringify(hostileName(random))}:${hostileJson(random, depth - 1)}`,
    );
    return `{${members.join(',')}}`;
  }
  if (random.oneIn(40)) return '['.repeat(random.pick([100, 1_000, 30_000]));
  if (random.oneIn(40)) return '{"a":'.repeat(random.pick([100, 1_000, 10_000]));
  if (random.oneIn(3)) return random.pick(numbers);
  if (random.oneIn(4)) return random.pick(['null', 'true', 'false', 'undefined', "'x'", '""', '{}', '[]']);
  return JSON.stringify(hostileText(random));
}

const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length', '', ' ', '$where', 'a.b'];
const hostileName = (random: Random): string => random.pick([...names, marker]);
