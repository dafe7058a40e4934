import type { V1Pod } from "../../api/pod.js";
import type { PullSecret } from "../kuberuntime/generic-runtime.js";
import { ObjectManager, type ObjectManagerDeps } from "./object-manager.js";

/**
 * ConfigMaps and Secrets for the pods of this node.
 *
 * Mirrors configmap.Manager in pkg/kubelet/configmap and secret.Manager in pkg/kubelet/secret, which have the same pods.
 */
export class PodObjectManagers {
  readonly configMaps: ObjectManager;
  readonly secrets: ObjectManager;

  constructor(deps: ObjectManagerDeps) {
    this.configMaps = new ObjectManager(deps, { kind: "configmap" });
    this.secrets = new ObjectManager(deps, { kind: "secret" });
  }

  /** To be called for each new version of a pod. */
  registerPod(pod: V1Pod): void {
    this.configMaps.registerPod(pod);
    this.secrets.registerPod(pod);
  }

  unregisterPod(pod: V1Pod): void {
    this.configMaps.unregisterPod(pod);
    this.secrets.unregisterPod(pod);
  }

  /**
   * The Secret that an image is pulled with.
   * @returns undefined when there is none, or it may not be read: the image may need none
   */
  async getPullSecret(namespace: string, name: string, signal: AbortSignal): Promise<PullSecret | undefined> {
    const result = await this.secrets.get(namespace, name, signal);
    return result.outcome === "ok" ? (result.object as PullSecret) : undefined;
  }
}
