import { chmodSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ContainerSpec, V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { Init } from "../../staging/apimachinery/protobuf/fields.js";
import type { ContainerConfig } from "../../staging/cri/messages/container.js";
import { MountPropagation } from "../../staging/cri/messages/enums.js";
import type { Mount } from "../../staging/cri/messages/values.js";
import { defined } from "../../util/defined.js";
import { describeFileError, makeFolder } from "../../util/os/files.js";
import { hashContainer } from "../container/hash.js";
import { expandContainerCommandAndArgs } from "../container/helpers.js";
import type { ContainerMount, RunContainerOptions } from "../container/runtime-helper.js";
import { newContainerAnnotations, newContainerLabels } from "./labels.js";
import { generateLinuxContainerResources } from "./linux-resources.js";
import { buildContainerLogsDirectory, buildContainerLogsPath } from "./logs/log-paths.js";
import type { ManagerContext } from "./manager-context.js";
import { containerSecurityContext, type ImageUser, verifyRunAsNonRoot } from "./security-context.js";

export interface ContainerConfigRequest {
  readonly pod: V1Pod;
  readonly container: ContainerSpec;
  readonly restartCount: number;
  readonly podIps: readonly string[];
  /** the runtime's reference of the image */
  readonly imageRef: string;
  /** the container whose processes an ephemeral container shares */
  readonly targetId?: string;
}

export type ContainerConfigResult =
  | {
      readonly outcome: "ok";
      readonly config: Init<typeof ContainerConfig>;
      readonly cleanup?: () => Promise<void>;
    }
  | { readonly outcome: "failed"; readonly message: string };

/**
 * The CRI configuration of a container. Creates the folder of its logs.
 *
 * Mirrors generateContainerConfig in pkg/kubelet/kuberuntime/kuberuntime_container.go.
 */
export async function generateContainerConfig(
  context: ManagerContext,
  request: ContainerConfigRequest,
  signal: AbortSignal,
): Promise<ContainerConfigResult> {
  const { pod, container, podIps } = request;
  const generated = await context.runtimeHelper.generateRunContainerOptions(
    pod,
    container,
    podIps[0] ?? "",
    podIps,
    signal,
  );
  if (generated.outcome === "failed") return generated;
  const { options, cleanup } = generated;
  let made: ContainerConfigResult | undefined;
  try {
    made = await configOf(context, request, options, signal);
    return made.outcome === "ok" && cleanup !== undefined ? { ...made, cleanup } : made;
  } finally {
    // The caller of a configuration disposes of it after use; nothing else does, not even an abort.
    if (made?.outcome !== "ok") await cleanup?.();
  }
}

async function configOf(
  context: ManagerContext,
  request: ContainerConfigRequest,
  options: RunContainerOptions,
  signal: AbortSignal,
): Promise<ContainerConfigResult> {
  const { pod, container } = request;
  const failed = (message: string): ContainerConfigResult => ({ outcome: "failed", message });
  const user = await imageUser(context, container.image ?? "", signal);
  if (typeof user === "string") return failed(user);
  const rootProblem = verifyRunAsNonRoot(pod, container, user);
  if (rootProblem !== undefined) return failed(rootProblem);
  const logDirectory = buildContainerLogsDirectory(context.options.podLogsDirectory, pod.metadata, container.name);
  try {
    await makeFolder(logDirectory, 0o755);
  } catch (error) {
    const reason = describeFileError(error);
    return failed(`create container log directory for container ${container.name} failed: ${reason}`);
  }
  const mounts = [...options.mounts.map(toMount), ...(await terminationLogMount(context, options, container))];
  return { outcome: "ok", config: toConfig(context, request, { options, mounts, user }) };
}

function toConfig(
  context: ManagerContext,
  { pod, container, restartCount, imageRef, targetId }: ContainerConfigRequest,
  made: { readonly options: RunContainerOptions; readonly mounts: Init<typeof Mount>[]; readonly user: ImageUser },
): Init<typeof ContainerConfig> {
  const { options, mounts, user } = made;
  const { kubeVersion, seccompProfileRoot, memoryCapacityBytes, cpuCfsQuota = true } = context.options;
  const hash = hashContainer(container, kubeVersion);
  const { annotations } = options;
  return {
    metadata: { name: container.name, attempt: restartCount },
    image: { image: imageRef, userSpecifiedImage: container.image ?? "" },
    ...expandContainerCommandAndArgs(container, options.envs),
    workingDir: container.workingDir ?? "",
    envs: options.envs.map(({ name, value }) => ({ key: name, value })),
    mounts,
    devices: (options.devices ?? []).map(({ pathOnHost, pathInContainer, permissions }) => ({
      hostPath: pathOnHost,
      containerPath: pathInContainer,
      permissions,
    })),
    labels: newContainerLabels(toLabelled(container), pod),
    annotations: newContainerAnnotations(toLabelled(container), pod, {
      restartCount,
      hash,
      ...defined({ annotations }),
    }),
    logPath: buildContainerLogsPath(container.name, restartCount),
    stdin: container.stdin === true,
    stdinOnce: container.stdinOnce === true,
    tty: container.tty === true,
    linux: {
      resources: generateLinuxContainerResources(pod, container, { cpuCfsQuota, memoryCapacityBytes }),
      securityContext: containerSecurityContext(pod, container, user, {
        seccompProfileRoot,
        extraGroups: context.runtimeHelper.getExtraSupplementalGroupsForPod(pod),
        ...defined({ targetId }),
      }),
    },
  };
}

/** The container as its labels need it, with undefined for absent fields. */
function toLabelled({ name, terminationMessagePath, terminationMessagePolicy, lifecycle, ports }: ContainerSpec) {
  const preStop = lifecycle?.preStop ?? undefined;
  return {
    name,
    ...defined({ terminationMessagePath, terminationMessagePolicy }),
    ...(preStop === undefined ? {} : { lifecycle: { preStop } }),
    ports: ports ?? [],
  };
}

/** Mirrors getImageUser in pkg/kubelet/kuberuntime/helpers.go. @returns a string when the runtime reports no user */
async function imageUser(context: ManagerContext, image: string, signal: AbortSignal): Promise<ImageUser | string> {
  const result = await context.imageService.imageStatus({ image }, false, signal);
  if (result.outcome !== "ok") return result.message;
  const { uid, username } = result.value.image ?? { uid: undefined, username: "" };
  if (uid !== undefined) return { uid: Number(uid.value), username: "" };
  return username === "" ? { uid: 0, username: "" } : { username };
}

const PROPAGATIONS = {
  None: MountPropagation.PROPAGATION_PRIVATE,
  HostToContainer: MountPropagation.PROPAGATION_HOST_TO_CONTAINER,
  Bidirectional: MountPropagation.PROPAGATION_BIDIRECTIONAL,
};

function toMount(mount: ContainerMount): Init<typeof Mount> {
  return {
    hostPath: mount.hostPath,
    containerPath: mount.containerPath,
    readonly: mount.readOnly,
    selinuxRelabel: mount.selinuxRelabel === true,
    propagation: PROPAGATIONS[mount.propagation ?? "None"],
  };
}

/**
 * Creates the file of the container's termination log: a new one for each start, as the last one may still be read.
 * Mirrors makeMounts. If the file cannot be created, the container starts without a termination log.
 */
async function terminationLogMount(
  context: ManagerContext,
  { podContainerDir = "" }: RunContainerOptions,
  { name, terminationMessagePath = "" }: ContainerSpec,
): Promise<Init<typeof Mount>[]> {
  if (podContainerDir === "" || terminationMessagePath === "") return [];
  const hostPath = join(podContainerDir, context.random.bytes(4).toString("hex"));
  try {
    await makeFolder(podContainerDir, 0o750);
    await writeFile(hostPath, "");
    // The container's user must be able to write it.
    chmodSync(hostPath, 0o666);
  } catch (error) {
    context.observer.terminationLogNotCreated(name, error);
    return [];
  }
  return [{ hostPath, containerPath: terminationMessagePath, readonly: false }];
}
