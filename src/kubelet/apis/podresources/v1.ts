import { int64, int64s, many, one, string, strings, uint64 } from "../../../staging/apimachinery/protobuf/fields.js";
import { message } from "../../../staging/apimachinery/protobuf/message.js";
import { rpcsOf } from "../../../staging/cri/grpc/rpc.js";

/**
 * The API by which monitoring agents ask which container has which devices.
 * Mirrors staging/src/k8s.io/kubelet/pkg/apis/podresources/v1/api.proto, as of v1.25.
 */
const NUMANode = message("NUMANode", { id: int64(1, "ID") });
const TopologyInfo = message("TopologyInfo", { nodes: many(1, NUMANode) });

export const ContainerDevices = message("ContainerDevices", {
  resourceName: string(1),
  deviceIds: strings(2),
  topology: one(3, TopologyInfo),
});
const ContainerMemory = message("ContainerMemory", {
  memoryType: string(1),
  size: uint64(2),
  topology: one(3, TopologyInfo),
});
const ContainerResources = message("ContainerResources", {
  name: string(1),
  devices: many(2, ContainerDevices),
  cpuIds: int64s(3),
  memory: many(4, ContainerMemory),
});
const PodResources = message("PodResources", {
  name: string(1),
  namespace: string(2),
  containers: many(3, ContainerResources),
});

const lister = rpcsOf("v1.PodResourcesLister");

export const POD_RESOURCES_LISTER = {
  list: lister.unary(
    "List",
    message("ListPodResourcesRequest", {}),
    message("ListPodResourcesResponse", { podResources: many(1, PodResources) }),
  ),
  getAllocatableResources: lister.unary(
    "GetAllocatableResources",
    message("AllocatableResourcesRequest", {}),
    message("AllocatableResourcesResponse", {
      devices: many(1, ContainerDevices),
      cpuIds: int64s(2),
      memory: many(3, ContainerMemory),
    }),
  ),
} as const;
