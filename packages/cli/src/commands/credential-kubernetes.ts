import { connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { checkedHelper, type Helper, type HelperOptions } from '../credential-helper.ts';
import { destinationsOf, isNamed } from '../credential-hosts.ts';
import { UsageError } from '../exit.ts';
import { issueDatedToken } from '../tokens.ts';

const group = 'client.authentication.k8s.io';
/** Kubernetes accepts an answer only in the version that it asked in. The members used here are the same in both. */
const versions: readonly unknown[] = [`${group}/v1`, `${group}/v1beta1`];

/**
 * `latchkey credential kubernetes`: a token for kubectl and other clients of Kubernetes.
 * @see https://kubernetes.io/docs/reference/config-api/client-authentication.v1/
 */
export async function kubernetesCredential(ctx: Context, options: HelperOptions): Promise<void> {
  const helper = checkedHelper(ctx, options);
  if (!helper.access) {
    throw new UsageError('Kubernetes only gets a token that is limited to a scope.', 'Add --scope.');
  }
  const { apiVersion, server } = readExecInfo(ctx.config.kubernetesExecInfo);
  requireAllowed(server, helper);
  const { token, expiresAt } = await issueDatedToken(await connect(ctx), helper.access, ctx.signal);
  const expirationTimestamp = expiresAt === undefined ? undefined : timestamp(expiresAt);
  const credential = { apiVersion, kind: 'ExecCredential', status: { expirationTimestamp, token } };
  ctx.output.result(credential, () => [JSON.stringify(credential)]);
}

/** Whole seconds, as Kubernetes writes its own times. */
const timestamp = (milliseconds: number): string =>
  new Date(milliseconds).toISOString().replace(/\.\d+Z$/, 'Z');

/**
 * What Kubernetes says about the cluster. It names the server only if the kubeconfig has `provideClusterInfo: true`.
 * @throws {UsageError}
 */
function readExecInfo(text: string | undefined) {
  if (text === undefined) return { apiVersion: `${group}/v1`, server: undefined };
  const { apiVersion, kind, spec } = parsedObject(text);
  const server = Object(Object(spec).cluster).server as unknown;
  if (kind !== 'ExecCredential' || typeof apiVersion !== 'string' || !versions.includes(apiVersion)) {
    throw new UsageError(
      `KUBERNETES_EXEC_INFO is not an ExecCredential of ${group}/v1.`,
      `Set "apiVersion: ${group}/v1" in the exec section of the kubeconfig.`,
    );
  }
  return { apiVersion, server: typeof server === 'string' ? server : undefined };
}

function parsedObject(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

/** @throws {UsageError} for a cluster that must not get a token */
function requireAllowed(server: string | undefined, { hosts }: Helper): void {
  if (server === undefined) {
    if (hosts.length === 0) return;
    throw new UsageError(
      'Kubernetes does not say which cluster it asks for, so --host cannot be compared.',
      'Set "provideClusterInfo: true" in the exec section of the kubeconfig.',
    );
  }
  const origins = destinationsOf(server);
  if (origins.length === 0) {
    throw new UsageError(`${server} is not an https address, so it gets no token.`);
  }
  if (hosts.length === 0 || origins.some((origin) => isNamed(origin, hosts))) return;
  throw new UsageError(`${server} is not a host that --host names, so it gets no token.`);
}
