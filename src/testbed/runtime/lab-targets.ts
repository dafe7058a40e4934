import type { RemoteControl, SandboxSnapshot } from "../../cluster/runtime/control/control.js";
import { RpcError } from "../../staging/cri/grpc/status.js";
import type { LabTarget } from "./lab-runtime.js";

/** The containers and sandboxes of an embedded runtime, read behind the kubelet's back. */
export async function labTargets(control: RemoteControl): Promise<readonly LabTarget[]> {
  return (await sandboxesOf(control)).flatMap((sandbox) => {
    const { sandboxId } = sandbox;
    const pod = `${sandbox.namespace}/${sandbox.name}`;
    const home: LabTarget = {
      kind: "sandbox",
      id: sandboxId,
      sandboxId,
      pod,
      name: "sandbox",
      // In PLEG's words: a sandbox is running or has exited.
      state: sandbox.state === "ready" ? "running" : "exited",
    };
    const own = sandbox.containers.map(({ containerId, name, state }): LabTarget => {
      return { kind: "container", id: containerId, sandboxId, pod, name, state };
    });
    return [...own, home];
  });
}

/** Empty while a crashed runtime restarts. */
async function sandboxesOf(control: RemoteControl): Promise<readonly SandboxSnapshot[]> {
  try {
    return (await control.snapshot()).sandboxes;
  } catch (error) {
    if (error instanceof RpcError && error.code === "Unavailable") return [];
    throw error;
  }
}
