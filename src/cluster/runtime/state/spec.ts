import { existsSync, realpathSync } from "node:fs";
import { NamespaceMode } from "../../../staging/cri/messages/enums.js";
import type { Ctx } from "../../../trace/ctx.js";
import type { Trace } from "../../../trace/trace.js";
import { defined } from "../../../util/defined.js";
import { messageOf } from "../../../util/errors.js";
import { ContainerFs } from "../../shell/fs/container-fs.js";
import type { NodeDisk } from "../../shell/fs/host-files.js";
import { hostMount } from "../../shell/fs/host-mount.js";
import type { HostOwners } from "../../shell/fs/host-owners.js";
import type { HostMount } from "../../shell/fs/nodes.js";
import type { Scheduler } from "../../shell/process/cpu.js";
import { DEFAULT_PATH } from "../../shell/process/lookup.js";
import type { MemoryPool } from "../../shell/process/memory-account.js";
import type { NodeFacts } from "../../shell/process/process.js";
import { ProcessTable } from "../../shell/process/process-table.js";
import { invalid } from "../errors.js";
import { type ImageUsage, syntheticDefinition } from "../images/definition.js";
import type { ImageStore } from "../images/image-store.js";
import { buildRootTree } from "../images/root-tree.js";
import { CriLog } from "../logs/cri-log.js";
import { prepareLogFolder } from "../logs/log-path.js";
import { cgroupFiles } from "./cgroup.js";
import type { Container } from "./container.js";
import { withDevices } from "./devices.js";
import { reportKills } from "./out-of-memory.js";
import type { ContainerSpec } from "./running.js";
import { confinementOf } from "./security.js";
import { type ContainerUser, containerUser } from "./user.js";

export interface SpecDeps extends Ctx {
  readonly images: ImageStore;
  /** see RuntimeOptions */
  readonly anyImage: boolean;
  readonly scheduler: Scheduler;
  readonly memory: MemoryPool;
  readonly owners: HostOwners;
  readonly node: NodeFacts;
  readonly disk: NodeDisk;
  /** see RuntimeOptions */
  readonly nodeRoot: string | undefined;
  /** the node's PID namespace */
  readonly processes: ProcessTable;
}

/** Mirrors containerd's buildContainerSpec, for the parts that our containers have. @throws FsError, RpcError */
export function containerSpec(container: Container, deps: SpecDeps): ContainerSpec {
  const { config, image, sandbox } = container;
  const security = config.linux?.securityContext;
  const { uts } = sandbox;
  // The kubelet names the pod's fsGroup first.
  const fsGroup = security?.supplementalGroups.map(Number)[0];
  const runAsUser = security?.runAsUser === undefined ? undefined : Number(security.runAsUser.value);
  // An image volume has no host path. Such volumes are newer than the release of this runtime.
  const mounts = config.mounts
    .filter(({ hostPath }) => hostPath !== "")
    .map((mount) => hostMount(mount, fsGroup, runAsUser));
  const fs = new ContainerFs({
    image: withDevices(deps.images.tree(image), config.devices, deps.clock.now()),
    mounts,
    clock: deps.clock,
    isReadonly: security?.readonlyRootfs === true,
    owners: deps.owners,
    disk: deps.disk,
    tmpfsBytes: Number(sandbox.config.linux?.resources?.memoryLimitInBytes ?? 0n) || deps.node.memoryBytes,
    maskedPaths: security?.privileged === true ? [] : (security?.maskedPaths ?? []),
    readonlyPaths: security?.privileged === true ? [] : (security?.readonlyPaths ?? []),
  });
  provideFiles(fs, container, uts.hostname, mounts);
  const cwd = config.workingDir || image.definition.workingDir || "/";
  // As runc does: creates a missing working directory.
  if (!fs.exists(cwd)) fs.mkdir(cwd, { recursive: true });
  const user: ContainerUser = containerUser(fs, image.definition, security);
  const limit = Number(container.resources?.memoryLimitInBytes ?? 0n);
  return {
    argv: commandOf(container),
    isPlaceholder: deps.anyImage && image.definition.repositories.length === 0,
    hasStdin: config.stdin,
    hasTerminal: config.tty,
    limitMilliCores: () => limitMilliCoresOf(container),
    ...defined({ usage: usageOf(container) }),
    onOutOfMemory: reportKills(`${sandbox.podName}/${config.metadata?.name}`, deps),
    env: environment(container, uts.hostname, user),
    cwd,
    machine: {
      fs,
      clock: deps.clock,
      random: deps.random,
      uts,
      user,
      confinement: confinementOf(config, sandbox.config),
      node: deps.node,
      nodeRoot: nodeRootOf(mounts, deps.nodeRoot),
      cgroup: cgroupFiles(container, deps.node.cpus),
      network: sandbox.network,
      memoryLimit: limit > 0 ? limit : undefined,
      killsTogether: container.resources?.unified["memory.oom.group"] === "1",
      memoryPool: deps.memory,
      scheduler: deps.scheduler,
      cpuShares: Number(container.resources?.cpuShares ?? 0n),
      limitMilliCores: () => limitMilliCoresOf(container),
      processes: processesOf(container, deps.processes),
      hasOwnPids: security?.namespaceOptions?.pid === NamespaceMode.CONTAINER,
    },
  };
}

/** The node's root folder, if the container can see it: its image is a busybox. */
function nodeRootOf(mounts: readonly HostMount[], root: string | undefined) {
  if (root === undefined || !existsSync(root)) return undefined;
  const path = realpathSync(root);
  if (!mounts.some(({ hostPath }) => hostPath === path || hostPath.startsWith(`${path}/`))) return undefined;
  const bin = buildRootTree(syntheticDefinition("node", 0)).children.get("bin");
  return bin?.type === "directory" ? { path, bin } : undefined;
}

/** The PID namespace of a container. Mirrors containerd's WithPodNamespaces and validateTargetContainer. @throws RpcError */
function processesOf({ config, sandbox }: Container, node: ProcessTable): ProcessTable {
  const { pid = NamespaceMode.POD, targetId = "" } = config.linux?.securityContext?.namespaceOptions ?? {};
  if (pid === NamespaceMode.CONTAINER) return new ProcessTable(node);
  if (pid === NamespaceMode.NODE) return node;
  if (pid === NamespaceMode.POD) return sandbox.processes;
  const target = [...sandbox.containers].find(({ containerId }) => containerId === targetId);
  if (target === undefined) throw invalid(`invalid target container: container "${targetId}" not found in the sandbox`);
  if (target.running === undefined || !target.isRunning) {
    throw invalid(`invalid target container: container "${targetId}" is not running`);
  }
  return target.running.machine.processes;
}

/** An image's usage applies to its own program, not to a shell that a pod starts instead. */
function usageOf({ config: { command }, image: { definition } }: Container): ImageUsage | undefined {
  const program = command[0]?.split("/").at(-1);
  const isOwn = program === undefined || definition.repositories.some((name) => name.endsWith(`/${program}`));
  return isOwn ? definition.usage : undefined;
}

/** The quota of CFS bandwidth control. */
function limitMilliCoresOf({ resources }: Container): number | undefined {
  const quota = Number(resources?.cpuQuota ?? 0n);
  const period = Number(resources?.cpuPeriod ?? 0n);
  return quota > 0 && period > 0 ? (quota / period) * 1000 : undefined;
}

/** How a pod's command and args combine with the image's. */
export function commandOf({ config, image }: Pick<Container, "config" | "image">): readonly string[] {
  const { entrypoint, cmd } = image.definition;
  if (config.command.length > 0) return [...config.command, ...config.args];
  return [...entrypoint, ...(config.args.length > 0 ? config.args : cmd)];
}

function environment(
  { config, image }: Container,
  hostname: string,
  user: ContainerUser,
): Readonly<Record<string, string>> {
  const env: Record<string, string> = { PATH: DEFAULT_PATH, HOSTNAME: hostname, ...image.env };
  if (config.tty) env["TERM"] = "xterm";
  for (const { key, value } of config.envs) env[key] = value;
  env["HOME"] ??= user.home;
  return env;
}

/** Files that the runtime creates for every container, unless the kubelet mounts something there. */
function provideFiles(fs: ContainerFs, { sandbox }: Container, hostname: string, mounts: readonly HostMount[]): void {
  const dns = sandbox.config.dnsConfig;
  const files: Readonly<Record<string, string>> = {
    "/etc/hostname": `${hostname}\n`,
    "/etc/hosts": `127.0.0.1\tlocalhost\n::1\tlocalhost\n${sandbox.ip ?? "127.0.0.1"}\t${hostname}\n`,
    "/etc/resolv.conf": [
      ...(dns?.searches.length ? [`search ${dns.searches.join(" ")}`] : []),
      ...(dns?.servers ?? []).map((server) => `nameserver ${server}`),
      ...(dns?.options.length ? [`options ${dns.options.join(" ")}`] : []),
      "",
    ].join("\n"),
  };
  for (const [path, content] of Object.entries(files)) {
    if (!mounts.some(({ containerPath }) => containerPath === path || containerPath === "/etc"))
      fs.provide(path, content);
  }
}

/** Opens a container's log; undefined without a log path. @throws RpcError for a path that leads outside */
export function openLog(container: Container, trace: Trace, now: () => bigint): CriLog | undefined {
  const { logPath, sandbox, metadata } = container;
  if (logPath === undefined) return undefined;
  prepareLogFolder(sandbox.config.logDirectory, logPath);
  return new CriLog(logPath, now, (error) => {
    const message = `cannot write the log of ${sandbox.podName}/${metadata.name}: ${messageOf(error)}`;
    trace.emit({ kind: "error", message }, { actor: "runtime" });
  });
}
