import { IMAGE_SERVICE, RUNTIME_SERVICE as R } from "../../../src/staging/cri/services.js";
import type { CriDriver } from "./cri-driver.js";

/** A container ID that no runtime has assigned. */
export const NO_SUCH_ID = "deadbeef".repeat(8);

export const CONTAINER_STATES = ["unknown", "created", "running", "exited", "removed"] as const;
export type ContainerStateName = (typeof CONTAINER_STATES)[number];

/** Brings a new container into a state. */
export async function containerIn(state: ContainerStateName, cri: CriDriver): Promise<string> {
  if (state === "unknown") return NO_SUCH_ID;
  const containerId = await cri.create();
  if (state === "created") return containerId;
  await cri.start(containerId);
  if (state === "running") return containerId;
  await cri.ok(R.stopContainer, { containerId, timeout: 0 });
  if (state === "removed") await cri.ok(R.removeContainer, { containerId });
  return containerId;
}

export const CONTAINER_CALLS: Readonly<Record<string, (containerId: string, cri: CriDriver) => Promise<string>>> = {
  StartContainer: (containerId, cri) => cri.code(R.startContainer, { containerId }),
  StopContainer: (containerId, cri) => cri.code(R.stopContainer, { containerId, timeout: 0 }),
  RemoveContainer: (containerId, cri) => cri.code(R.removeContainer, { containerId }),
  ContainerStatus: (containerId, cri) => cri.code(R.containerStatus, { containerId }),
  ContainerStats: (containerId, cri) => cri.code(R.containerStats, { containerId }),
  UpdateContainerResources: (containerId, cri) =>
    cri.code(R.updateContainerResources, { containerId, linux: { cpuShares: 512 } }),
  ReopenContainerLog: (containerId, cri) => cri.code(R.reopenContainerLog, { containerId }),
  ExecSync: (containerId, cri) => cri.code(R.execSync, { containerId, cmd: ["true"], timeout: 10 }),
  Exec: (containerId, cri) => cri.code(R.exec, { containerId, cmd: ["true"], stdout: true }),
  Attach: (containerId, cri) => cri.code(R.attach, { containerId, stdout: true }),
};

export const SANDBOX_STATES = ["unknown", "ready", "not-ready", "removed"] as const;
export type SandboxStateName = (typeof SANDBOX_STATES)[number];

export async function sandboxIn(state: SandboxStateName, cri: CriDriver): Promise<string> {
  if (state === "unknown") return NO_SUCH_ID;
  const { sandboxId } = await cri.runSandbox();
  if (state === "ready") return sandboxId;
  await cri.ok(R.stopPodSandbox, { podSandboxId: sandboxId });
  if (state === "removed") await cri.ok(R.removePodSandbox, { podSandboxId: sandboxId });
  return sandboxId;
}

export const SANDBOX_CALLS: Readonly<Record<string, (podSandboxId: string, cri: CriDriver) => Promise<string>>> = {
  StopPodSandbox: (podSandboxId, cri) => cri.code(R.stopPodSandbox, { podSandboxId }),
  RemovePodSandbox: (podSandboxId, cri) => cri.code(R.removePodSandbox, { podSandboxId }),
  PodSandboxStatus: (podSandboxId, cri) => cri.code(R.podSandboxStatus, { podSandboxId }),
  PodSandboxStats: (podSandboxId, cri) => cri.code(R.podSandboxStats, { podSandboxId }),
  CreateContainer: (podSandboxId, cri) =>
    cri.code(R.createContainer, { podSandboxId, config: cri.containerConfig(), sandboxConfig: cri.sandboxConfig() }),
  PortForward: (podSandboxId, cri) => cri.code(R.portForward, { podSandboxId, port: [80] }),
};

/** Requests that are invalid in any state, and names in use. */
export const BAD_REQUESTS: Readonly<Record<string, (cri: CriDriver) => Promise<string>>> = {
  "RunPodSandbox without a config": (cri) => cri.code(R.runPodSandbox, {}),
  "RunPodSandbox without metadata": (cri) => cri.code(R.runPodSandbox, { config: {} }),
  "RunPodSandbox with a handler that there is none of": (cri) =>
    cri.code(R.runPodSandbox, { config: cri.sandboxConfig(), runtimeHandler: "no-such-handler" }),
  "RunPodSandbox twice with one name": async (cri) => {
    const { config } = await cri.runSandbox();
    return cri.code(R.runPodSandbox, { config });
  },
  "CreateContainer without a config": async (cri) => {
    const { sandboxId, config } = await cri.runSandbox();
    return cri.code(R.createContainer, { podSandboxId: sandboxId, sandboxConfig: config });
  },
  "CreateContainer without metadata": async (cri) => {
    const { sandboxId, config: sandboxConfig } = await cri.runSandbox();
    const config = { image: { image: cri.image } };
    return cri.code(R.createContainer, { podSandboxId: sandboxId, config, sandboxConfig });
  },
  "CreateContainer of an image that is not here": async (cri) => {
    const { sandboxId, config: sandboxConfig } = await cri.runSandbox();
    const config = cri.containerConfig({ image: { image: "example.com/not/here:1" } });
    return cri.code(R.createContainer, { podSandboxId: sandboxId, config, sandboxConfig });
  },
  "CreateContainer twice with one name": async (cri) => {
    const { sandboxId, config: sandboxConfig } = await cri.runSandbox();
    const request = { podSandboxId: sandboxId, config: cri.containerConfig(), sandboxConfig };
    await cri.ok(R.createContainer, request);
    return cri.code(R.createContainer, request);
  },
  "StartContainer of a command that is not there": async (cri) => {
    const containerId = await cri.create({ command: ["/no/such/command"] });
    return cri.code(R.startContainer, { containerId });
  },
  "ContainerStatus without an ID": (cri) => cri.code(R.containerStatus, {}),
  "PodSandboxStatus without an ID": (cri) => cri.code(R.podSandboxStatus, {}),
  "ExecSync of a command that is not there": async (cri) =>
    cri.code(R.execSync, { containerId: await cri.run(), cmd: ["/no/such/command"] }),
  "ExecSync that takes too long": async (cri) =>
    cri.code(R.execSync, { containerId: await cri.run(), cmd: ["sleep", "30"], timeout: 1 }),
  "Exec with tty and stderr": async (cri) =>
    cri.code(R.exec, { containerId: await cri.run(), cmd: ["true"], tty: true, stdout: true, stderr: true }),
  "Exec without any stream": async (cri) => cri.code(R.exec, { containerId: await cri.run(), cmd: ["true"] }),
  "ImageStatus of an image that is not here": (cri) =>
    cri.code(IMAGE_SERVICE.imageStatus, { image: { image: "example.com/not/here:1" } }),
  "ImageStatus of a path": (cri) => cri.code(IMAGE_SERVICE.imageStatus, { image: { image: "../../etc" } }),
  "PullImage of a path": (cri) => cri.code(IMAGE_SERVICE.pullImage, { image: { image: "../../etc" } }),
  "PullImage of capitals": (cri) => cri.code(IMAGE_SERVICE.pullImage, { image: { image: "Example/Image" } }),
  "PullImage of nothing": (cri) => cri.code(IMAGE_SERVICE.pullImage, {}),
  "RemoveImage of an image that is not here": (cri) =>
    cri.code(IMAGE_SERVICE.removeImage, { image: { image: "example.com/not/here:1" } }),
};

/** The embedded runtime's answers: calls on containers and sandboxes by state, in the order above. */
export const OUR_ANSWERS: Readonly<Record<string, string>> = {
  //                        unknown  created            running      exited             removed
  StartContainer: "NotFound OK FailedPrecondition FailedPrecondition NotFound",
  StopContainer: "OK OK OK OK OK",
  RemoveContainer: "OK OK OK OK OK",
  ContainerStatus: "NotFound OK OK OK NotFound",
  ContainerStats: "NotFound OK OK OK NotFound",
  UpdateContainerResources: "NotFound OK OK OK NotFound",
  ReopenContainerLog: "NotFound FailedPrecondition OK FailedPrecondition NotFound",
  ExecSync: "NotFound FailedPrecondition OK FailedPrecondition NotFound",
  Exec: "NotFound FailedPrecondition OK FailedPrecondition NotFound",
  Attach: "NotFound FailedPrecondition OK FailedPrecondition NotFound",
  //                        unknown  ready              not-ready          removed
  StopPodSandbox: "OK OK OK OK",
  RemovePodSandbox: "OK OK OK OK",
  PodSandboxStatus: "NotFound OK OK NotFound",
  PodSandboxStats: "NotFound OK OK NotFound",
  CreateContainer: "NotFound OK FailedPrecondition NotFound",
  PortForward: "NotFound OK FailedPrecondition NotFound",

  "RunPodSandbox without a config": "InvalidArgument",
  "RunPodSandbox without metadata": "InvalidArgument",
  "RunPodSandbox with a handler that there is none of": "InvalidArgument",
  "RunPodSandbox twice with one name": "AlreadyExists",
  "CreateContainer without a config": "InvalidArgument",
  "CreateContainer without metadata": "InvalidArgument",
  "CreateContainer of an image that is not here": "NotFound",
  "CreateContainer twice with one name": "AlreadyExists",
  "StartContainer of a command that is not there": "Unknown",
  "ContainerStatus without an ID": "InvalidArgument",
  "PodSandboxStatus without an ID": "InvalidArgument",
  "ExecSync of a command that is not there": "Unknown",
  "ExecSync that takes too long": "DeadlineExceeded",
  "Exec with tty and stderr": "InvalidArgument",
  "Exec without any stream": "InvalidArgument",
  "ImageStatus of an image that is not here": "OK",
  "ImageStatus of a path": "OK",
  "PullImage of a path": "InvalidArgument",
  "PullImage of capitals": "InvalidArgument",
  "PullImage of nothing": "InvalidArgument",
  "RemoveImage of an image that is not here": "OK",
};

/** Where containerd 1.6 differs from us in more than an error code, and why. */
export const OTHER_IN_CONTAINERD: Readonly<Record<string, string>> = {
  "StopContainer unknown": "the CRI asks for success, and containerd gives it since 1.7",
  "StopContainer removed": "as above",
  "StopPodSandbox unknown": "the CRI asks for success, and containerd gives it since 2.0",
  "StopPodSandbox removed": "as above",
  "ContainerStats created": "containerd cannot read what is not there; ours has only the writable layer then",
  "ContainerStats exited": "as above",
  "PodSandboxStats ready": "containerd has no statistics of pods on cgroup v1, or none in the host's network",
  "PodSandboxStats not-ready": "as above",
  "CreateContainer not-ready": "containerd finds no task of the sandbox, and says so by NotFound",
};
