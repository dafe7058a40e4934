import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { type ConfigMapObject, isTerminating, nameOf } from "../../../staging/apimachinery/api/objects.js";
import { concurrently } from "../../../staging/apimachinery/wait.js";
import { forEachChange } from "../../../staging/client-go/informers/for-each-change.js";
import { WorkQueue } from "../../../staging/client-go/workqueue.js";
import type { Controller } from "../controller.js";
import { retryReporter, type SharedDeps } from "../support/shared-deps.js";

const NAME = "root-ca-cert-publisher";
const CONFIG_MAP = "kube-root-ca.crt";
const ANNOTATIONS = {
  "kubernetes.io/description":
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.",
};

/**
 * Writes the CA certificate into every namespace, so that pods can verify the API server.
 * Mirrors pkg/controller/certificates/rootcacertpublisher/publisher.go.
 */
export function createRootCaCertPublisher(deps: SharedDeps): Controller {
  return { name: NAME, run: (signal) => new PublisherRun(deps).run(signal) };
}

class PublisherRun {
  constructor(readonly deps: SharedDeps) {}

  async run(signal: AbortSignal): Promise<void> {
    const { clock, reflectors } = this.deps;
    const namespaces = reflectors.of("namespaces");
    const configMaps = reflectors.of<ConfigMapObject>("configmaps");
    const queue = new WorkQueue(clock);
    const watchNamespaces = async (stop: AbortSignal) => {
      await forEachChange(this.deps.trace, namespaces.changes(stop), (item) => {
        if (item.type !== "initDone" && item.type !== "deleted") queue.add(nameOf(item.object));
      });
    };
    const watchConfigMaps = async (stop: AbortSignal) => {
      await forEachChange(this.deps.trace, configMaps.changes(stop), (item) => {
        if (item.type === "initDone" || item.type === "init" || nameOf(item.object) !== CONFIG_MAP) return;
        const { namespace } = item.object.metadata;
        if (namespace !== undefined) queue.add(namespace);
      });
    };
    const publish = async (name: string) => {
      const namespace = namespaces.byKey(name);
      if (namespace === undefined || isTerminating(namespace)) return;
      await this.#syncNamespace(name, configMaps.get(name, CONFIG_MAP));
    };
    const report = retryReporter(this.deps, NAME);
    await concurrently(signal, watchNamespaces, watchConfigMaps, async (stop) => {
      await configMaps.synced(stop);
      await queue.run(publish, report, stop);
    });
  }

  async #syncNamespace(namespace: string, current: ConfigMapObject | undefined): Promise<void> {
    const { client, ca } = this.deps;
    const data = { "ca.crt": ca.certificatePem };
    const metadata = { name: CONFIG_MAP, namespace, annotations: ANNOTATIONS };
    const wanted: KubeObject = { apiVersion: "v1", kind: "ConfigMap", metadata, data };
    if (current === undefined) {
      await client.create("configmaps", namespace, wanted).catch((error: unknown) => {
        // Another client created it, or the namespace began to terminate: wait for the next watch event.
        const { code, reason } = error as { code?: unknown; reason?: unknown };
        if (code !== 409 && !(code === 403 && reason === "Forbidden") && code !== 404) throw error;
      });
      return;
    }
    if (isPublished(current, data)) return;
    await client.modify<ConfigMapObject>("configmaps", namespace, CONFIG_MAP, (object) =>
      isPublished(object, data)
        ? object
        : {
            ...object,
            metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, ...ANNOTATIONS } },
            data,
          },
    );
  }
}

function isPublished(current: ConfigMapObject, data: Readonly<Record<string, string>>): boolean {
  const description = "kubernetes.io/description";
  const keys = Object.keys(current.data ?? {});
  return (
    keys.length === 1 &&
    current.data?.["ca.crt"] === data["ca.crt"] &&
    (current.metadata.annotations?.[description] ?? "") === ANNOTATIONS[description]
  );
}
