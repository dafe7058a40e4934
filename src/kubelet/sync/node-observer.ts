import { KubeletObserver } from "../types/observer.js";

/** Words the facts about the node's runtime, its network, and garbage. */
export class NodeObserver extends KubeletObserver {
  protected readonly file = "pkg/kubelet/kubelet.go";

  /** @param ports without TLS, on loopback; undefined: off */
  listens(url: string, ports: Readonly<Record<"healthzPort" | "readOnlyPort", number | undefined>>): void {
    const also = [portText("health", ports.healthzPort), portText("read-only", ports.readOnlyPort)].join("");
    this.note(`The kubelet listens at ${url}${also}.`);
  }

  runtimeReady(): void {
    this.state("container runtime", "is", "ready", "updateRuntimeUp");
  }

  runtimeNotReady(problem: string): void {
    this.error(problem, { hint: "The runtime is checked every 5 s; running pods go on.", level: 1 });
  }

  /** @param from empty: it had none */
  podCidrChanged(from: string, to: string): void {
    const more = { from: from === "" ? undefined : from, file: "pkg/kubelet/kubelet_network.go" };
    this.state("pods of this node", "addresses", to, "updatePodCIDR", more);
  }

  podCidrNotUpdated(why: string): void {
    this.error(`failed to update pod CIDR: ${why}`, { hint: "It is tried again when the node changes." });
  }

  containersNotCollected(why: string): void {
    this.error(`Container garbage collection failed: ${why}`);
  }

  imagesNotCollected(why: string, isRepeated: boolean): void {
    const what = isRepeated
      ? "Image garbage collection failed multiple times in a row"
      : "Image garbage collection failed once. Stats initialization may not have completed yet";
    this.error(`${what}: ${why}`, { level: isRepeated ? 1 : 2 });
  }
}

function portText(what: string, port: number | undefined): string {
  return port === undefined ? "" : `, ${what} at http://127.0.0.1:${port}`;
}
