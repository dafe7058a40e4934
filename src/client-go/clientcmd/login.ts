import type { RestConfig } from "../rest/client.js";
import { type ChosenContext, damaged } from "./document.js";

/**
 * Lets @kubernetes/client-node run the exec plugin or login provider of a kubeconfig's user. Loaded only when a user has
 * one: the library is large.
 *
 * Mirrors k8s.io/client-go/plugin/pkg/client/auth/exec/exec.go.
 * Differs: a client certificate from a plugin is asked for once; tokens are asked for again when they have expired.
 * @throws LabError BAD_FILE when the plugin fails
 */
export async function withLogin(config: RestConfig, chosen: ChosenContext, path: string): Promise<RestConfig> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  const kubeConfig = new KubeConfig();
  const { cluster, user, name } = chosen;
  kubeConfig.loadFromOptions({
    clusters: [{ name: cluster.name, server: config.server, skipTLSVerify: config.insecureSkipTlsVerify === true }],
    users: [
      {
        name: user?.name ?? "",
        exec: user?.fields["exec"],
        authProvider: user?.fields["auth-provider"],
      },
    ],
    contexts: [{ name, cluster: cluster.name, user: user?.name ?? "" }],
    currentContext: name,
  });
  const ask = async () => {
    const options: { headers?: unknown; cert?: unknown; key?: unknown } = { headers: {} };
    try {
      await kubeConfig.applyToHTTPSOptions(options as Parameters<typeof kubeConfig.applyToHTTPSOptions>[0]);
    } catch (cause) {
      throw damaged(path, `has a login (exec plugin) for user "${user?.name}" that failed`, cause);
    }
    return options;
  };
  const first = await ask();
  if (isPem(first.cert) && isPem(first.key)) {
    return { ...config, clientCertificatePem: String(first.cert), clientKeyPem: String(first.key) };
  }
  return {
    ...config,
    authorize: async (headers) => {
      const authorization = authorizationOf((await ask()).headers);
      if (authorization !== undefined) headers["Authorization"] = authorization;
    },
  };
}

function isPem(value: unknown): boolean {
  return (typeof value === "string" || Buffer.isBuffer(value)) && value.length > 0;
}

/** client-node fills a plain object or a Headers-like one, depending on its release. */
function authorizationOf(headers: unknown): string | undefined {
  if (typeof headers !== "object" || headers === null) return undefined;
  const plain = headers as Record<string, unknown>;
  const value = plain["Authorization"] ?? plain["authorization"];
  return typeof value === "string" ? value : undefined;
}
