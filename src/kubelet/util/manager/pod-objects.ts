import type { V1Pod } from "../../../staging/apimachinery/api/pod.js";
import { allUntilOneEnds } from "../../../util/async/concurrency.js";
import type { PullSecret } from "../../container/generic-runtime.js";
import type { ObjectCacheItemDeps } from "./object-cache-item.js";
import { ObjectManager } from "./object-manager.js";

/**
 * ConfigMaps and Secrets for this node's pods.
 *
 * Mirrors configmap.Manager in pkg/kubelet/configmap and secret.Manager in pkg/kubelet/secret, which get the same pods.
 */
export class PodObjectManagers implements AsyncDisposable {
  readonly configMaps: ObjectManager;
  readonly secrets: ObjectManager;

  constructor(deps: ObjectCacheItemDeps) {
    this.configMaps = new ObjectManager(deps, "configmap");
    this.secrets = new ObjectManager(deps, "secret");
  }

  /** Ends idle watches, until `signal` aborts. */
  run(signal: AbortSignal): Promise<void> {
    const { configMaps, secrets } = this;
    const loops = [configMaps, secrets].map(
      ({ cache }) =>
        (inner: AbortSignal) =>
          cache.recycleIdleWatches(inner),
    );
    return allUntilOneEnds(signal, loops);
  }

  /** Ends all watches. Safe to call twice. */
  async close(): Promise<void> {
    await Promise.all([this.configMaps.cache.close(), this.secrets.cache.close()]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Call for each new version of a pod. */
  registerPod(pod: V1Pod): void {
    this.configMaps.registerPod(pod);
    this.secrets.registerPod(pod);
  }

  unregisterPod(pod: V1Pod): void {
    this.configMaps.unregisterPod(pod);
    this.secrets.unregisterPod(pod);
  }

  /**
   * The Secret to pull an image with.
   * @returns undefined when it is missing or forbidden: the image may be public
   */
  async getPullSecret(namespace: string, name: string, signal: AbortSignal): Promise<PullSecret | undefined> {
    const result = await this.secrets.get(namespace, name, signal);
    return result.outcome === "ok" ? (result.object as PullSecret) : undefined;
  }
}
