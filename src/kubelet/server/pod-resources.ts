import { join } from "node:path";
import { containersOf, type V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { Init } from "../../staging/apimachinery/protobuf/fields.js";
import { methodsOf, type RunningGrpcServer, serveSocket } from "../../staging/cri/grpc/grpc-server.js";
import type { Trace } from "../../trace/trace.js";
import { messageOf } from "../../util/errors.js";
import { makeFolder } from "../../util/os/files.js";
import { type ContainerDevices, POD_RESOURCES_LISTER } from "../apis/podresources/v1.js";
import type { DeviceManager } from "../cm/devicemanager/manager.js";
import type { PodDevicesEntry } from "../cm/devicemanager/pod-devices.js";
import type { KubeletMetrics } from "../metrics/kubelet-metrics.js";

const FOLDER = "pod-resources";
const FOLDER_MODE = 0o750;
const SOCKET = "kubelet.sock";
const VERSION = { server_api_version: "v1" } as const;

export interface PodResourcesDeps {
  readonly trace: Trace;
  readonly metrics: Pick<KubeletMetrics, "add">;
  readonly podManager: { getPods(): readonly V1Pod[] };
  readonly deviceManager: Pick<DeviceManager, "updateAllocatedDevices" | "getDevices" | "getAllocatableDevices">;
}

/** Where monitoring agents ask. @param rootDir the kubelet's folder */
export function podResourcesSocket(rootDir: string): string {
  return join(rootDir, FOLDER, SOCKET);
}

/**
 * Serves `pod-resources/kubelet.sock` in the kubelet's folder.
 *
 * Mirrors ListenAndServePodResources in pkg/kubelet/server/server.go, and pkg/kubelet/apis/podresources/server_v1.go.
 * Differs: without v1alpha1; a kubelet that cannot listen continues without it.
 * @returns undefined if it cannot listen, which is reported
 */
export async function openPodResources(
  deps: PodResourcesDeps,
  rootDir: string,
): Promise<RunningGrpcServer | undefined> {
  const { trace, metrics, podManager, deviceManager } = deps;
  const path = podResourcesSocket(rootDir);
  const counted = (method: "list" | "get_allocatable") => {
    metrics.add("kubelet_pod_resources_endpoint_requests_total", VERSION);
    metrics.add(`kubelet_pod_resources_endpoint_requests_${method}`, VERSION);
  };
  const methods = methodsOf(POD_RESOURCES_LISTER, {
    list: () => {
      counted("list");
      deviceManager.updateAllocatedDevices();
      return { podResources: podManager.getPods().map((pod) => podResources(deps, pod)) };
    },
    getAllocatableResources: () => {
      counted("get_allocatable");
      return { devices: deviceManager.getAllocatableDevices().flatMap(containerDevices) };
    },
  });
  try {
    await makeFolder(join(rootDir, FOLDER), FOLDER_MODE);
    return await serveSocket(methods, path, trace);
  } catch (error) {
    const message = `The resources of pods cannot be asked for: ${messageOf(error)}`;
    trace.emit({ kind: "error", message }, { actor: "kubelet", level: 1 });
    return undefined;
  }
}

/** CPUs and memory are not pinned to containers, because both managers have the policy `none`. */
function podResources({ deviceManager }: PodResourcesDeps, pod: V1Pod) {
  const { name, namespace, uid } = pod.metadata;
  const containers = containersOf(pod).map((container) => ({
    name: container.name,
    devices: deviceManager.getDevices(uid, container.name).flatMap(containerDevices),
  }));
  return { name, namespace, containers };
}

/** A message for each device and NUMA node. Mirrors containerDevicesFromResourceDeviceInstances in pkg/kubelet/cm/container_manager_linux.go. */
function containerDevices({
  resourceName,
  deviceIds,
}: Pick<PodDevicesEntry, "resourceName" | "deviceIds">): Init<typeof ContainerDevices>[] {
  return Object.entries(deviceIds).flatMap(([node, ids]) =>
    ids.map((id) => {
      const topology = node === "-1" ? {} : { topology: { nodes: [{ id: BigInt(node) }] } };
      return { resourceName, deviceIds: [id], ...topology };
    }),
  );
}
