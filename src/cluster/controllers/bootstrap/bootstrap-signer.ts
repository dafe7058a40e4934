import { type ConfigMapObject, isTerminating, type SecretObject } from "../../../staging/apimachinery/api/objects.js";
import { concurrently } from "../../../staging/apimachinery/wait.js";
import type { LocalClient } from "../../../staging/client-go/dynamic/interface.js";
import { forEachChange } from "../../../staging/client-go/informers/for-each-change.js";
import type { SharedReflector } from "../../../staging/client-go/informers/shared-reflector.js";
import { WorkQueue } from "../../../staging/client-go/workqueue.js";
import { detachedSignature } from "../../../staging/cluster-bootstrap/jws.js";
import type { Controller } from "../controller.js";
import { asController, retryReporter, type SharedDeps } from "../support/shared-deps.js";
import { isBootstrapToken, signingToken } from "./tokens.js";

const NAME = "bootstrapsigner";
const NAMESPACE = "kube-public";
const CONFIG_MAP = "cluster-info";
const KUBECONFIG = "kubeconfig";
const SIGNATURE_PREFIX = "jws-kubeconfig-";

/** Adds the signatures to the data of the config map. */
type Sign = (data: Readonly<Record<string, string>>) => Record<string, string>;

/**
 * Keeps `cluster-info` in kube-public signed with every token that allows it. With that signature a joining node trusts
 * the server's address and CA before it has a certificate to verify.
 *
 * Mirrors pkg/controller/bootstrap/bootstrapsigner.go.
 * Differs: also creates the config map, as `kubeadm init` does upstream
 * (cmd/kubeadm/app/phases/bootstraptoken/clusterinfo/clusterinfo.go, CreateBootstrapConfigMapIfNotExists), and keeps the address of
 * its server up to date.
 * @param kubeadm creates the config map: the controller's role only allows to update it
 */
export function createBootstrapSigner(deps: SharedDeps, kubeadm: Pick<LocalClient, "create">): Controller {
  return { name: NAME, run: (signal) => new SignerRun(deps, kubeadm).run(signal) };
}

class SignerRun {
  constructor(
    readonly deps: SharedDeps,
    readonly kubeadm: Pick<LocalClient, "create">,
  ) {}

  async run(signal: AbortSignal): Promise<void> {
    const { clock, reflectors } = this.deps;
    const secrets = reflectors.of<SecretObject>("secrets");
    const configMaps = reflectors.of<ConfigMapObject>("configmaps");
    const queue = new WorkQueue(clock);
    const watchSecrets = async (stop: AbortSignal) => {
      await forEachChange(this.deps.trace, secrets.changes(stop), (item) => {
        if (item.type === "initDone" || isBootstrapToken(item.object)) queue.add(CONFIG_MAP);
      });
    };
    const watchConfigMap = async (stop: AbortSignal) => {
      await forEachChange(this.deps.trace, configMaps.changes(stop), (item) => {
        if (item.type === "initDone") return;
        const { namespace, name } = item.object.metadata;
        if (namespace === NAMESPACE && name === CONFIG_MAP && item.type !== "init") queue.add(CONFIG_MAP);
      });
    };
    const watchNamespace = async (stop: AbortSignal) => {
      await forEachChange(this.deps.trace, reflectors.of("namespaces").changes(stop), (item) => {
        if (item.type === "initDone" || item.type === "deleted") return;
        if (item.object.metadata.name === NAMESPACE) queue.add(CONFIG_MAP);
      });
    };
    const report = retryReporter(this.deps, NAME);
    await concurrently(signal, watchSecrets, watchConfigMap, watchNamespace, async (stop) => {
      await Promise.all([secrets.synced(stop), configMaps.synced(stop)]);
      await queue.run(() => this.#signConfigMap(secrets, configMaps), report, stop);
    });
  }

  /** Mirrors signConfigMap. */
  async #signConfigMap(
    secrets: SharedReflector<SecretObject>,
    configMaps: SharedReflector<ConfigMapObject>,
  ): Promise<void> {
    const { clock, reflectors, trace, serverUrl, ca } = this.deps;
    const tokens = secrets
      .list()
      .filter(isBootstrapToken)
      .flatMap((secret) => signingToken(secret, clock.now()) ?? []);
    const signed = (data: Readonly<Record<string, string>>) =>
      withSignatures(withServer(data, serverUrl, ca.certificatePem), tokens);
    const known = configMaps.get(NAMESPACE, CONFIG_MAP);
    if (known === undefined) {
      const namespace = reflectors.of("namespaces").byKey(NAMESPACE);
      if (namespace === undefined || isTerminating(namespace)) return;
    } else if (sameData(signed(known.data ?? {}), known.data ?? {})) return;
    const names = tokens.map(({ tokenId }) => `token ${tokenId}.****`);
    const cause = asController(
      trace,
      {
        kind: "decision",
        what:
          names.length === 0
            ? `write ${NAMESPACE}/${CONFIG_MAP} unsigned`
            : `sign ${NAMESPACE}/${CONFIG_MAP} with ${names.join(", ")}`,
        why:
          names.length === 0 ? "no secret has usage-bootstrap-signing" : "their secrets have usage-bootstrap-signing",
        upstream: { file: "pkg/controller/bootstrap/bootstrapsigner.go", func: "signConfigMap" },
      },
      2,
    );
    await trace.because(cause, () => (known === undefined ? this.#create(signed) : this.#update(signed)));
  }

  async #update(signed: Sign): Promise<void> {
    await this.deps.client.modify<ConfigMapObject>("configmaps", NAMESPACE, CONFIG_MAP, (current) => {
      const data = signed(current.data ?? {});
      return sameData(data, current.data ?? {}) ? current : { ...current, data };
    });
  }

  /** If another client was faster, the queue tries again with its config map. */
  async #create(signed: Sign): Promise<void> {
    const { serverUrl, ca } = this.deps;
    await this.kubeadm.create("configmaps", NAMESPACE, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: CONFIG_MAP, namespace: NAMESPACE },
      data: signed({ [KUBECONFIG]: clusterInfoKubeconfig(serverUrl, ca.certificatePem) }),
    });
  }
}

/**
 * The config map's data with this server's address, if a server of this cluster has written another: it may have ended.
 * Differs: upstream nothing changes it after `kubeadm init`.
 */
function withServer(
  data: Readonly<Record<string, string>>,
  serverUrl: string,
  caPem: string,
): Readonly<Record<string, string>> {
  const content = data[KUBECONFIG] ?? "";
  const before = /^ {4}server: (\S+)$/m.exec(content)?.[1] ?? "";
  if (before === serverUrl || content !== clusterInfoKubeconfig(before, caPem)) return data;
  return { ...data, [KUBECONFIG]: clusterInfoKubeconfig(serverUrl, caPem) };
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
