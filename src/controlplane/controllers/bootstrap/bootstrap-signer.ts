import { WorkQueue } from "../../../client-go/workqueue.js";
import { detachedSignature } from "../../../cluster-bootstrap/jws.js";
import type { Controller } from "../controller.js";
import type { SharedReflector } from "../shared-reflector.js";
import { concurrently } from "../support/concurrently.js";
import { forEachChange } from "../support/for-each-change.js";
import { type ConfigMapObject, isTerminating, type SecretObject } from "../support/objects.js";
import { asController, retryReporter, type SharedDeps } from "../support/shared-deps.js";
import { isBootstrapToken, signingToken } from "./tokens.js";

const NAMESPACE = "kube-public";
const NAME = "cluster-info";
const KUBECONFIG = "kubeconfig";
const SIGNATURE_PREFIX = "jws-kubeconfig-";

/**
 * Keeps `cluster-info` in kube-public signed with every token that allows it. With that signature a joining node trusts
 * the server's address and CA before it has a certificate to verify.
 *
 * Mirrors pkg/controller/bootstrap/bootstrapsigner.go.
 * Differs: also creates the config map, as `kubeadm init` does upstream
 * (cmd/kubeadm/app/phases/bootstraptoken/clusterinfo/clusterinfo.go, CreateBootstrapConfigMapIfNotExists).
 */
export class BootstrapSigner implements Controller {
  readonly name = "bootstrapsigner";
  readonly #deps: SharedDeps;

  constructor(deps: SharedDeps) {
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, reflectors } = this.#deps;
    const secrets = reflectors.of<SecretObject>("secrets");
    const queue = new WorkQueue(clock);
    const watchSecrets = async (stop: AbortSignal) => {
      await forEachChange(this.#deps.trace, secrets.changes(stop), (item) => {
        if (item.type === "initDone" || isBootstrapToken(item.object)) queue.add(NAME);
      });
    };
    const watchConfigMap = async (stop: AbortSignal) => {
      await forEachChange(this.#deps.trace, reflectors.of<ConfigMapObject>("configmaps").changes(stop), (item) => {
        if (item.type === "initDone") return;
        const { namespace, name } = item.object.metadata;
        if (namespace === NAMESPACE && name === NAME && item.type !== "init") queue.add(NAME);
      });
    };
    const watchNamespace = async (stop: AbortSignal) => {
      await forEachChange(this.#deps.trace, reflectors.of("namespaces").changes(stop), (item) => {
        if (item.type === "initDone" || item.type === "deleted") return;
        if (item.object.metadata.name === NAMESPACE) queue.add(NAME);
      });
    };
    const report = retryReporter(this.#deps, this.name);
    await concurrently(signal, watchSecrets, watchConfigMap, watchNamespace, async (stop) => {
      await secrets.synced(stop);
      await queue.run(() => this.#signConfigMap(secrets), report, stop);
    });
  }

  async #signConfigMap(secrets: SharedReflector<SecretObject>): Promise<void> {
    const { client, clock, trace } = this.#deps;
    const tokens = secrets
      .list()
      .filter(isBootstrapToken)
      .flatMap((secret) => signingToken(secret, clock.now()) ?? []);
    const signed = (data: Readonly<Record<string, string>>) => withSignatures(data, tokens);
    let signedBy: readonly string[] = [];
    const written = await client.modify<ConfigMapObject>("configmaps", NAMESPACE, NAME, (current) => {
      const data = signed(current.data ?? {});
      if (sameData(data, current.data ?? {})) return current;
      signedBy = tokens.map(({ tokenId }) => tokenId);
      return { ...current, data };
    });
    if (written === undefined) {
      const namespace = this.#deps.reflectors.of("namespaces").byKey(NAMESPACE);
      if (namespace === undefined || isTerminating(namespace)) return;
      await client.create("configmaps", NAMESPACE, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: NAME, namespace: NAMESPACE },
        data: signed({ [KUBECONFIG]: clusterInfoKubeconfig(this.#deps.serverUrl, this.#deps.ca.certificatePem) }),
      });
      signedBy = tokens.map(({ tokenId }) => tokenId);
    }
    if (signedBy.length === 0) return;
    asController(
      trace,
      {
        kind: "decision",
        what: `sign ${NAMESPACE}/${NAME} with ${signedBy.map((tokenId) => `token ${tokenId}.****`).join(", ")}`,
        why: "their secrets have usage-bootstrap-signing",
        upstream: { file: "pkg/controller/bootstrap/bootstrapsigner.go", func: "signConfigMap" },
      },
      2,
    );
  }
}

/** The config map's data with one signature for each of the given tokens, and no other signatures. Pure. */
function withSignatures(
  data: Readonly<Record<string, string>>,
  tokens: readonly { readonly tokenId: string; readonly tokenSecret: string }[],
): Record<string, string> {
  const content = data[KUBECONFIG];
  if (content === undefined) return { ...data };
  const kept = Object.entries(data).filter(([key]) => !key.startsWith(SIGNATURE_PREFIX));
  const signatures = tokens.map(({ tokenId, tokenSecret }): [string, string] => [
    `${SIGNATURE_PREFIX}${tokenId}`,
    detachedSignature(content, tokenId, tokenSecret),
  ]);
  return Object.fromEntries([...kept, ...signatures]);
}

function sameData(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

/** A kubeconfig that contains only a cluster, as kubeadm writes it. */
function clusterInfoKubeconfig(serverUrl: string, caPem: string): string {
  const lines = [
    "apiVersion: v1",
    "clusters:",
    "- cluster:",
    `    certificate-authority-data: ${Buffer.from(caPem, "utf8").toString("base64")}`,
    `    server: ${serverUrl}`,
    '  name: ""',
    "contexts: null",
    'current-context: ""',
    "kind: Config",
    "preferences: {}",
    "users: null",
  ];
  return `${lines.join("\n")}\n`;
}
