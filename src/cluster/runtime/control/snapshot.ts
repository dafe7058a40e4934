import { defined } from "../../../util/defined.js";
import type { Container, Sandbox } from "../state/container.js";
import type { LoadSettings } from "../state/container-load.js";
import type { ContainerSnapshot, SandboxSnapshot } from "./control.js";

/** A sandbox with its containers, as the control API shows it. */
export function sandboxSnapshot({ sandboxId, metadata, state, ip, containers }: Sandbox): SandboxSnapshot {
  const { name, namespace, uid: podUid, attempt } = metadata;
  return {
    sandboxId,
    podUid,
    name,
    namespace,
    attempt,
    state,
    ...defined({ ip }),
    containers: Array.from(containers, containerSnapshot),
  };
}

function containerSnapshot({ containerId, metadata, config, phase, running }: Container): ContainerSnapshot {
  return {
    containerId,
    name: metadata.name,
    attempt: metadata.attempt,
    image: config.image?.userSpecifiedImage || (config.image?.image ?? ""),
    state: phase.state,
    ...(phase.state === "running" && running !== undefined && isSet(running.load.settings)
      ? { load: running.load.settings }
      : {}),
    ...(phase.state === "exited" ? { exitCode: phase.exitCode, reason: phase.reason } : {}),
  };
}

function isSet(load: LoadSettings): boolean {
  return Object.values(load).some((amount) => amount > 0);
}
