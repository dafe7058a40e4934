import type { InjectionArguments } from "../labs/environment/environment.js";

/** A fault: an injection of the labs. */
interface KnownFault {
  /** what breaks like this in real life, in one sentence */
  readonly inRealLife: string;
  /** the injection that takes it back; absent for what cannot be undone */
  readonly undo?: (args: InjectionArguments) => readonly [name: string, args: InjectionArguments];
}

/** Only the arguments that say where a fault is. */
function place(args: InjectionArguments, ...keys: readonly string[]): InjectionArguments {
  return Object.fromEntries(Object.entries(args).filter(([key]) => key === "node" || keys.includes(key)));
}

/** The faults of scenarios, by the names of the labs' injections. */
export const FAULTS: Readonly<Record<string, KnownFault>> = {
  "node-stop": {
    inRealLife: "A kubelet crashes, its machine loses power, or a partition separates the node from the control plane.",
    undo: (args) => ["node-start", { ...place(args), unattended: true }],
  },
  "runtime-condition": {
    inRealLife: "A CNI plugin is missing after an upgrade, or containerd reports that it is not ready.",
    undo: (args) => ["runtime-condition", place(args, "condition")],
  },
  "runtime-fault": {
    inRealLife:
      "A shim waits for a process in uninterruptible sleep, or a full disk makes calls of the CRI fail or hang.",
    undo: (args) => ["runtime-fault", place(args, "rpc")],
  },
  "kill-container": {
    inRealLife: "The kernel's out-of-memory killer ends a process that leaks, or a program crashes.",
  },
  "remove-container": {
    inRealLife: "Somebody cleans up with crictl or nerdctl on the node, behind the kubelet's back.",
  },
  "sandbox-not-ready": {
    inRealLife: "The pause process of a pod is killed, or the runtime restarts and loses the sandbox.",
  },
  "pull-fault": {
    inRealLife: "A registry is down, its token has expired, or its rate limit is reached.",
    undo: (args) => ["pull-fault", place(args, "image")],
  },
  "drop-events": {
    inRealLife: "A slow reader or a restart of the runtime loses container events.",
    undo: (args) => ["drop-events", { ...place(args), count: 0 }],
  },
};
