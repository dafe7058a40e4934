import type { Container, Sandbox } from "../state/container.js";
import type { RuntimeCore } from "../state/core.js";

/** JSON has no 64 bit numbers; Go writes them as numbers. */
function json(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => (typeof item === "bigint" ? Number(item) : item));
}

/** The fields that `crictl inspect` shows in addition to the status, under containerd's names if it has them. */
export function containerInfo(container: Container): Readonly<Record<string, string>> {
  const { running, sandbox, config, isRemoving } = container;
  return {
    info: json({
      sandboxID: sandbox.sandboxId,
      pid: container.isRunning ? (running?.init.pid ?? 0) : 0,
      removing: isRemoving,
      runtimeType: "kubelab",
      config,
      processes: [...(running?.machine.own ?? [])].map(({ pid, argv }) => ({ pid, argv })),
    }),
  };
}

/** The output of `crictl inspectp`. */
export function sandboxInfo({ sandboxId, state, config, runtimeHandler, network, containers }: Sandbox) {
  return {
    info: json({
      sandboxID: sandboxId,
      pid: state === "ready" ? 1 : 0,
      processStatus: state === "ready" ? "running" : "stopped",
      runtimeHandler,
      runtimeType: "kubelab",
      config,
      listening: network.ports.list(),
      containers: [...containers].map(({ containerId }) => containerId),
    }),
  };
}

/** The output of `crictl info`. */
export function runtimeInfo({ options, sandboxes, containers, images, events }: RuntimeCore) {
  return {
    config: json({ rootDir: options.rootDir, podCidr: options.podCidr, pullMs: options.pullMs }),
    counts: json({
      sandboxes: sandboxes.size,
      containers: containers.size,
      images: images.list().length,
      eventListeners: events.listenerCount,
      eventsDropped: events.droppedCount,
    }),
  };
}
