import type { ControlPlane, ControlPlaneOptions } from "../../src/cluster/control-plane/control-plane.js";
import { startControlPlane } from "../../src/cluster/control-plane/start.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { SystemRandom } from "../../src/util/random.js";
import { Kubectl } from "./kubectl.js";
import { PlayNode } from "./play-node.js";

/** An embedded control plane on the system clock, with simulated kubelets, and kubectl as its administrator. */
export class KubectlCluster {
  private constructor(
    readonly controlPlane: ControlPlane,
    readonly kubectl: Kubectl,
    readonly nodes: readonly PlayNode[],
  ) {}

  static async start(
    nodeNames: readonly string[] = [],
    options: Partial<ControlPlaneOptions> = {},
  ): Promise<KubectlCluster> {
    const deps = { clock: new SystemClock(), random: new SystemRandom() };
    const trace = new Trace(deps.clock);
    const controlPlane = await startControlPlane({ ...deps, trace, kubeVersion: "1.25", ...options });
    const nodes = await Promise.all(nodeNames.map((name) => PlayNode.start(controlPlane.admin, deps, name)));
    return new KubectlCluster(controlPlane, new Kubectl(controlPlane.admin), nodes);
  }

  async close(): Promise<void> {
    for (const node of this.nodes) await node.close();
    await this.controlPlane.close();
  }
}

/** A pod with one container, bound to `nodeName` if given. */
export function podManifest(
  name: string,
  {
    labels = { app: name },
    ...spec
  }: { labels?: Record<string, string>; nodeName?: string; restartPolicy?: string } = {},
) {
  const containers = [{ name: "c", image: "busybox:1.35", command: ["sleep", "3600"] }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels },
    spec: { terminationGracePeriodSeconds: 1, containers, ...spec },
  };
}
