// What is in deploy/, as far as it can be checked without Docker, Kubernetes and Grafana.

import { expect, test } from 'bun:test';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '#support/service.ts';
import { readConfig, settingNames } from '../../packages/server/src/settings.ts';

const root = join(import.meta.dir, '../..');
const deploy = join(root, 'deploy');
const read = (name: string): Promise<string> => Bun.file(join(deploy, name)).text();

// biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary files
const parsed = async (name: string): Promise<any> => Bun.YAML.parse(await read(name));

interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
}

const objects: KubernetesObject[] = await parsed('kubernetes.yaml');
// biome-ignore lint/suspicious/noExplicitAny: mistakesIn checks their types
const find = (kind: string): any => objects.find((object) => object.kind === kind);
const { spec } = find('Deployment');
const pod = spec.template.spec;
const [container] = pod.containers;
const config: Record<string, string> = find('ConfigMap').data;
const { services, networks, volumes } = await parsed('compose.yaml');
const environment: Record<string, string> = services.latchkey.environment;
const portOfTheImage = Number(/^EXPOSE (\d+)$/m.exec(await read('Dockerfile'))?.[1]);

/** The mistakes in the objects, as the compiler prints them. The types of the API know every member and its type. */
async function mistakesIn(): Promise<string> {
  const options = '--noEmit --strict --skipLibCheck --module nodenext --target esnext'.split(' ');
  const directory = temporaryDirectory();
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'));
  const declarations = objects.map(
    (object, index) =>
      `const object${index}: import('kubernetes-models/${object.apiVersion}').I${object.kind} = ${JSON.stringify(object)};`,
  );
  await Bun.write(join(directory, 'objects.mts'), declarations.join('\n'));
  const compile = Bun.spawn([join(root, 'node_modules/.bin/tsc'), ...options, 'objects.mts'], {
    cwd: directory,
    stderr: 'inherit',
  });
  return new Response(compile.stdout).text();
}

test('every Kubernetes object has only members that its API knows, of the right types', async () => {
  expect(objects.map(({ kind }) => kind)).toEqual([
    ...['ConfigMap', 'Deployment', 'Service', 'NetworkPolicy', 'PodDisruptionBudget', 'Ingress'],
  ]);
  expect(await mistakesIn()).toBe('');
});

test('the pods run without rights, on a file system that they cannot write; only readiness depends on the database', () => {
  expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 65532 });
  expect(container).toMatchObject({
    ports: [{ name: 'http', containerPort: portOfTheImage }],
    startupProbe: { httpGet: { path: '/healthz', port: 'http' } },
    livenessProbe: { httpGet: { path: '/healthz', port: 'http' } },
    readinessProbe: { httpGet: { path: '/readyz', port: 'http' } },
  });
  expect(container.securityContext).toEqual({
    ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
  });
});

test('every selector selects the pods, and a pod may stop for longer than it takes', () => {
  const matchLabels = spec.template.metadata.labels;
  for (const { labelSelector } of [
    { labelSelector: spec.selector },
    { labelSelector: find('PodDisruptionBudget').spec.selector },
    { labelSelector: { matchLabels: find('Service').spec.selector } },
    ...pod.topologySpreadConstraints,
  ])
    expect(labelSelector).toEqual({ matchLabels });
  const drainSeconds = 10;
  const { seconds } = container.lifecycle.preStop.sleep;
  expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(seconds + drainSeconds);
});

test('every setting in deploy/ exists', async () => {
  const image = [...(await read('Dockerfile')).matchAll(/\b([A-Z_]+)=\S+/g)].map(([, name = '']) => name);
  const named = [
    ...image.filter((name) => name !== 'SQLITE_TMPDIR'),
    ...Object.keys({ ...config, ...environment }),
    ...container.env.map(({ name }: { name: string }) => name),
  ];
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !settingNames.has(name))).toEqual([]);
});

/** Fills in the variables of a compose file. Secrets get a value of the right form. */
const filled = (text: string): string =>
  text
    .replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1')
    .replaceAll(/\$\{\w+:\?[^}]*\}/g, Buffer.alloc(32).toString('base64url'));

test('the settings in the compose file and in the ConfigMap are valid together, and approvals from afar need a code', () => {
  const values = Object.entries(environment).map(([name, text]) => [name, filled(text)]);
  const composed = readConfig(Object.fromEntries(values));
  const confirm = { deviceLogin: 'confirm' };
  expect(composed).toMatchObject({ baseUrl: 'https://localhost', devMailbox: false, ...confirm });
  expect(composed.trustedProxies).toHaveLength(1);
  expect(() => readConfig(config)).toThrow('LATCHKEY_TRUSTED_PROXIES');
  const changed = { ...config, LATCHKEY_TRUSTED_PROXIES: '10.1.2.3' };
  expect(readConfig(changed)).toMatchObject({
    https: true,
    mailFrom: config['LATCHKEY_MAIL_FROM'],
    ...confirm,
  });
});

test('the compose file refers only to what it declares, and trusts the address of its proxy', () => {
  expect(Object.keys(services)).toEqual(['latchkey', 'mail', 'database', 'proxy']);
  for (const [name, service] of Object.entries<typeof services.proxy>(services)) {
    const uses: string[] = Array.isArray(service.networks)
      ? service.networks
      : Object.keys(service.networks ?? {});
    const kept: string[] = (service.volumes ?? []).map((volume: string) => volume.split(':')[0]);
    const unknown = [
      ...uses.filter((network) => !(network in networks)),
      ...kept.filter((volume) => !volume.startsWith('.') && !(volume in volumes)),
      ...Object.keys(service.depends_on ?? {}).filter((other) => !(other in services)),
    ];
    expect([name, unknown]).toEqual([name, []]);
  }
  for (const name of ['latchkey', 'mail', 'proxy'])
    expect(services[name]).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
  const { proxy } = services;
  expect(proxy.networks).toEqual({ front: { ipv4_address: environment['LATCHKEY_TRUSTED_PROXIES'] } });
  expect(proxy.environment.LATCHKEY_UPSTREAM).toBe(`latchkey:${portOfTheImage}`);
});

test('workflows pin actions by commit, and what may publish runs nothing that the repository or a dependency brings', async () => {
  const workflows = join(root, '.github/workflows');
  for (const name of ['ci.yml', 'release.yml']) {
    const uses = [...(await Bun.file(join(workflows, name)).text()).matchAll(/uses: (.*)/g)].map(
      ([, use]) => use,
    );
    expect(uses).not.toBeEmpty();
    expect(uses.filter((use) => !/^[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(use ?? ''))).toEqual([]);
  }
  const { permissions, jobs } = await parsed('../.github/workflows/release.yml');
  const { build, publish } = jobs;
  expect([permissions, build.permissions]).toEqual([{}, { contents: 'read' }]);
  expect(Object.keys(jobs)).toEqual(['build', 'publish']);
  const commands = publish.steps.map(({ uses = '', run = '' }: Record<string, string>) => `${uses} ${run}`);
  expect(commands.join('\n')).not.toMatch(/checkout|npm (?:run|ci|install|exec)|npx/);
});
