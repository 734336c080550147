// What is in deploy/, as far as it can be checked without Docker, Kubernetes and Grafana.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { readConfig, settingNames } from '../../packages/server/src/settings.ts';
import { type KubernetesObject, mistakesIn } from './kubernetes.ts';

const deploy = join(import.meta.dir, '../../deploy');
const read = (name: string): Promise<string> => Bun.file(join(deploy, name)).text();

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface Container {
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env: readonly { readonly name: string }[];
  readonly securityContext: object;
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly lifecycle: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
}

interface Deployment extends KubernetesObject {
  readonly spec: {
    readonly replicas: number;
    readonly selector: { readonly matchLabels: object };
    readonly template: {
      readonly metadata: { readonly labels: object };
      readonly spec: {
        readonly securityContext: object;
        readonly terminationGracePeriodSeconds: number;
        readonly topologySpreadConstraints: readonly { readonly labelSelector: object }[];
        readonly containers: readonly [Container];
      };
    };
  };
}

const objects = Bun.YAML.parse(await read('kubernetes.yaml')) as KubernetesObject[];
const find = <T extends KubernetesObject>(kind: string): T =>
  objects.find((object) => object.kind === kind) as T;
const { spec } = find<Deployment>('Deployment');
const pod = spec.template.spec;
const [container] = pod.containers;
const portOfTheImage = Number(/^EXPOSE (\d+)$/m.exec(await read('Dockerfile'))?.[1]);

test('every Kubernetes object has only members that its API knows, of the right types', async () => {
  expect(objects.map(({ kind }) => kind)).toEqual([
    'ConfigMap',
    'Deployment',
    'Service',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'Ingress',
  ]);
  const misspelled = { ...find('Deployment'), spec: { ...spec, replica: 3 } };
  const wrong = { ...find('Service'), spec: { ports: '80' } };
  expect(await mistakesIn(objects)).toBe('');
  const mistakes = await mistakesIn([misspelled, wrong]);
  expect(mistakes).toMatch(/replica.*does not exist/);
  expect(mistakes).toMatch(/'string' is not assignable/);
});

test('the pods run without rights, on a file system that they cannot write', () => {
  expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 65532 });
  expect(container.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  });
});

test('probes ask the port of the image; only readiness depends on the database', () => {
  expect(container.ports).toEqual([{ name: 'http', containerPort: portOfTheImage }]);
  const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe];
  expect(probes.map(({ httpGet }) => `${httpGet.port} ${httpGet.path}`)).toEqual([
    'http /healthz',
    'http /healthz',
    'http /readyz',
  ]);
});

test('every selector selects the pods, and a pod may stop for longer than it takes', async () => {
  const labels = spec.template.metadata.labels;
  const budget = find<KubernetesObject & { spec: { selector: object } }>('PodDisruptionBudget');
  const service = find<KubernetesObject & { spec: { selector: object } }>('Service');
  const spread = pod.topologySpreadConstraints.map(({ labelSelector }) => labelSelector);
  for (const selector of [
    spec.selector,
    budget.spec.selector,
    { matchLabels: service.spec.selector },
    ...spread,
  ])
    expect(selector).toEqual({ matchLabels: labels });
  const drainSeconds = 10;
  const { seconds } = container.lifecycle.preStop.sleep;
  expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(seconds + drainSeconds);
});

interface ComposeFile {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly image: string;
        readonly read_only?: boolean;
        readonly cap_drop?: readonly string[];
        readonly environment?: Readonly<Record<string, string>>;
        readonly depends_on?: object;
        readonly networks?: object;
        readonly volumes?: readonly string[];
      }
    >
  >;
  readonly networks: object;
  readonly volumes: object;
}

const compose = Bun.YAML.parse(await read('compose.yaml')) as ComposeFile;

test('every setting in deploy/ exists', async () => {
  const image = [...(await read('Dockerfile')).matchAll(/\b([A-Z_]+)=\S+/g)].map(([, name = '']) => name);
  const config = find<KubernetesObject & { data: object }>('ConfigMap');
  const named = [
    ...image.filter((name) => name !== 'SQLITE_TMPDIR'),
    ...Object.keys(config.data),
    ...container.env.map(({ name }) => name),
    ...Object.keys(compose.services['latchkey']?.environment ?? {}),
  ];
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !settingNames.has(name))).toEqual([]);
});

/** Fills in the variables of a compose file. Secrets get a value of the right form. */
const filled = (text: string): string =>
  text
    .replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1')
    .replaceAll(/\$\{\w+:\?[^}]*\}/g, Buffer.alloc(32).toString('base64url'));

test('the settings in the compose file and in the ConfigMap are valid together', () => {
  const environment = Object.entries(compose.services['latchkey']?.environment ?? {});
  const composed = readConfig(Object.fromEntries(environment.map(([name, text]) => [name, filled(text)])));
  expect(composed).toMatchObject({ baseUrl: 'https://localhost', devMailbox: false });
  expect(composed.trustedProxies).toHaveLength(1);
  const { data } = find<KubernetesObject & { data: Record<string, string> }>('ConfigMap');
  expect(() => readConfig(data)).toThrow('LATCHKEY_TRUSTED_PROXIES');
  const changed = { ...data, LATCHKEY_TRUSTED_PROXIES: '10.1.2.3' };
  expect(readConfig(changed)).toMatchObject({ https: true, mailFrom: data['LATCHKEY_MAIL_FROM'] });
});

test('the compose file refers only to what it declares, and trusts the address of its proxy', () => {
  const { services, networks, volumes } = compose;
  expect(Object.keys(services)).toEqual(['latchkey', 'mail', 'database', 'proxy']);
  for (const [name, service] of Object.entries(services)) {
    const uses = Array.isArray(service.networks) ? service.networks : Object.keys(service.networks ?? {});
    const kept = (service.volumes ?? []).map((volume) => volume.split(':')[0] ?? '');
    const unknown = [
      ...uses.filter((network) => !(network in networks)),
      ...kept.filter((volume) => !volume.startsWith('.') && !(volume in volumes)),
      ...Object.keys(service.depends_on ?? {}).filter((other) => !(other in services)),
    ];
    expect([name, unknown]).toEqual([name, []]);
  }
  for (const name of ['latchkey', 'mail', 'proxy'])
    expect(services[name]).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
  const { environment } = services['latchkey'] ?? {};
  expect(services['proxy']?.networks).toEqual({
    front: { ipv4_address: environment?.['LATCHKEY_TRUSTED_PROXIES'] },
  });
  expect(services['proxy']?.environment?.['LATCHKEY_UPSTREAM']).toBe(`latchkey:${portOfTheImage}`);
});

test('an approval of a device from another network needs a code', async () => {
  for (const file of ['compose.yaml', 'kubernetes.yaml'])
    expect(await read(file)).toMatch(/^ +LATCHKEY_DEVICE_LOGIN: confirm$/m);
});

test('workflows pin actions by commit, and what may publish runs nothing that the repository or a dependency brings', async () => {
  const workflows = join(import.meta.dir, '../../.github/workflows');
  for (const name of ['ci.yml', 'release.yml']) {
    const uses = [...(await Bun.file(join(workflows, name)).text()).matchAll(/uses: (.*)/g)].map(
      ([, use]) => use,
    );
    expect(uses.filter((use) => !/^[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(use ?? ''))).toEqual([]);
  }
  interface Job {
    readonly permissions: Readonly<Record<string, string>>;
    readonly steps: readonly { readonly uses?: string; readonly run?: string }[];
  }
  const { jobs } = Bun.YAML.parse(await Bun.file(join(workflows, 'release.yml')).text()) as {
    jobs: Record<string, Job>;
  };
  for (const { permissions, steps } of Object.values(jobs)) {
    if (!Object.values(permissions).includes('write')) continue;
    const commands = steps.map(({ uses = '', run = '' }) => `${uses} ${run}`).join('\n');
    expect(commands).not.toMatch(/checkout|npm (?:run|ci|install|exec)|npx/);
  }
});
