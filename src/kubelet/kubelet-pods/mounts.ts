import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import type { V1VolumeMount } from "@kubernetes/client-node";
import type { V1Container, V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { Wire } from "../../staging/apimachinery/wire.js";
import { defined } from "../../util/defined.js";
import { expand } from "../container/expansion.js";
import type { ContainerMount, EnvVar } from "../container/runtime-helper.js";
import { ensureHostsFile } from "../network/hosts-file.js";
import { subpathPlace } from "../volumes/paths.js";
import { bindFile, EscapeError, safeSubpath } from "../volumes/safe-path.js";
import type { MountedVolume } from "../volumes/set-up.js";

const ETC_HOSTS_PATH = "/etc/hosts";

/** A container's mounts cannot be prepared: its status shows why. */
export class MountsError extends Error {
  override readonly name = "MountsError";
}

export interface MountsRequest {
  readonly pod: V1Pod;
  readonly container: V1Container;
  /** `<root>/pods/<uid>` */
  readonly podDir: string;
  readonly hostName: string;
  readonly hostDomain: string;
  readonly podIps: readonly string[];
  readonly volumes: ReadonlyMap<string, MountedVolume>;
  /** the variables that subPathExpr may use */
  readonly envs: readonly EnvVar[];
  /** the node's own hosts file: upstream `/etc/hosts` */
  readonly nodeHostsFile: string;
}

/**
 * The node's folders and files that a container gets: its volumes, and the hosts file unless it mounts its own.
 *
 * Mirrors makeMounts in pkg/kubelet/kubelet_pods.go.
 * @throws MountsError in upstream's words
 */
export async function makeMounts(request: MountsRequest): Promise<ContainerMount[]> {
  const { pod, container, podDir, nodeHostsFile, podIps, hostName, hostDomain } = request;
  const wanted = container.volumeMounts ?? [];
  const mounts: ContainerMount[] = [];
  for (const [index, mount] of wanted.entries()) mounts.push(await makeMount(request, mount, index));
  const bringsItsOwn = wanted.some(({ mountPath }) => mountPath === ETC_HOSTS_PATH);
  // Without an address there is nothing to write yet: the sandbox is still being created.
  const hasAddress = podIps.length > 0 || pod.spec.hostNetwork === true;
  if (bringsItsOwn || !hasAddress) return mounts;
  const hostPath = await ensureHostsFile({ podDir, nodeHostsFile }, pod, podIps, hostName, hostDomain);
  return [...mounts, { name: "k8s-managed-etc-hosts", containerPath: ETC_HOSTS_PATH, hostPath, readOnly: false }];
}

async function makeMount(request: MountsRequest, mount: Wire<V1VolumeMount>, index: number): Promise<ContainerMount> {
  const { container, volumes, envs, podDir } = request;
  const { name, mountPath, readOnly = false, mountPropagation } = mount;
  const volume = volumes.get(name);
  if (volume === undefined) {
    const into = `to mount into container ${JSON.stringify(container.name)}`;
    throw new MountsError(`cannot find volume ${JSON.stringify(name)} ${into}`);
  }
  const subPath = subPathOf(mount, envs);
  const place = () => subpathPlace(podDir, name, container.name, index);
  const hostPath =
    subPath === "" ? volume.hostPath : await prepareSubpath(container, mount, volume.hostPath, subPath, place);
  const propagation = PROPAGATIONS.find((one) => one === mountPropagation);
  return {
    name,
    containerPath: isAbsolute(mountPath) ? mountPath : `/${mountPath}`,
    hostPath,
    readOnly: readOnly || volume.readOnly,
    ...defined({ propagation }),
  };
}

const PROPAGATIONS = ["None", "HostToContainer", "Bidirectional"] as const;

function subPathOf({ subPath = "", subPathExpr = "" }: Wire<V1VolumeMount>, envs: readonly EnvVar[]): string {
  const path = subPathExpr === "" ? subPath : expandSubPath(subPathExpr, envs);
  if (isAbsolute(path)) throw new MountsError(`error SubPath \`${path}\` must not be an absolute path`);
  if (path.split("/").includes("..")) {
    throw new MountsError(`unable to provision SubPath \`${path}\`: must not contain '..'`);
  }
  return path;
}

/** Mirrors ExpandContainerVolumeMounts in pkg/kubelet/container/helpers.go: every variable must be set. */
function expandSubPath(text: string, envs: readonly EnvVar[]): string {
  const values = new Map(envs.map(({ name, value }) => [name, value]));
  let isMissing = false;
  const path = expand(text, (name) => {
    const value = values.get(name);
    if (value === undefined) isMissing = true;
    return value;
  });
  if (isMissing) throw new MountsError(`missing value for ${JSON.stringify(text)}`);
  return path;
}

/** Hides the file system's error, which could reveal the node's own files. */
async function prepareSubpath(
  container: V1Container,
  mount: Wire<V1VolumeMount>,
  volumePath: string,
  subPath: string,
  place: () => string,
): Promise<string> {
  const what = `for volumeMount ${JSON.stringify(mount.name)} of container ${JSON.stringify(container.name)}`;
  try {
    const { mode } = await stat(volumePath);
    return await bindFile(await safeSubpath(volumePath, subPath, mode & 0o7777), place());
  } catch (error) {
    if (error instanceof EscapeError) {
      throw new MountsError(`failed to prepare subPath ${what}`, { cause: error });
    }
    throw new MountsError(`failed to create subPath directory ${what}`, { cause: error });
  }
}
