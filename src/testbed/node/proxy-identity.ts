import type { RestConfig } from "../../staging/client-go/rest/client.js";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import { collectionPath, objectPath } from "../../staging/client-go/rest/paths.js";
import type { Ctx } from "../../trace/ctx.js";
import { defined } from "../../util/defined.js";
import { createUnlessThere } from "../create-unless-there.js";

const NAME = "kube-proxy";
const NAMESPACE = "kube-system";
const SERVICE_ACCOUNTS = { apiVersion: "v1", resource: "serviceaccounts", namespace: NAMESPACE };
const RBAC = "rbac.authorization.k8s.io";
const BINDINGS = { apiVersion: `${RBAC}/v1`, resource: "clusterrolebindings" };

const SERVICE_ACCOUNT = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: NAME, namespace: NAMESPACE } };
const BINDING = {
  apiVersion: `${RBAC}/v1`,
  kind: "ClusterRoleBinding",
  metadata: { name: "kubeadm:node-proxier" },
  roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "system:node-proxier" },
  subjects: [{ kind: "ServiceAccount", name: NAME, namespace: NAMESPACE }],
};
/** The objects of the identity. */
export const PROXY_IDENTITY_PATHS = [
  objectPath(SERVICE_ACCOUNTS, NAME),
  objectPath(BINDINGS, BINDING.metadata.name),
] as const;
/** The proxy runs longer than the default of an hour, and never restarts to get a new token. */
const TOKEN_SECONDS = 365 * 24 * 3_600;

/**
 * Gives kube-proxy an identity: its service account, upstream's role, and a token. They already exist if other nodes of
 * the cluster have a kube-proxy.
 *
 * Mirrors cmd/kubeadm/app/phases/addons/proxy/proxy.go (CreateServiceAccount, CreateRBACRules). Differs: the token comes
 * from the administrator, because no pod of kube-proxy has it mounted.
 * @throws LabError FORBIDDEN, REFUSED
 */
export async function createProxyIdentity(deps: Ctx, admin: RestConfig, signal: AbortSignal): Promise<RestConfig> {
  await using client = createClient(admin, { ...deps, actor: "user" });
  await createUnlessThere(client, collectionPath(SERVICE_ACCOUNTS), SERVICE_ACCOUNT, signal);
  await createUnlessThere(client, collectionPath(BINDINGS), BINDING, signal);
  const path = objectPath(SERVICE_ACCOUNTS, NAME, "token");
  const body = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: TOKEN_SECONDS },
  };
  const answer = await client.expect<{ readonly status: { readonly token: string } }>({
    method: "POST",
    path,
    body,
    signal,
  });
  const { server, caPem, tlsServerName, insecureSkipTlsVerify, proxyAgent } = admin;
  return {
    server,
    token: answer.status.token,
    ...defined({ caPem, tlsServerName, insecureSkipTlsVerify, proxyAgent }),
  };
}
