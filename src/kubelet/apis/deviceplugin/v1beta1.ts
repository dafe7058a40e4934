import {
  bool,
  int32,
  int64,
  many,
  one,
  string,
  stringMap,
  strings,
} from "../../../staging/apimachinery/protobuf/fields.js";
import { message } from "../../../staging/apimachinery/protobuf/message.js";
import { rpcsOf } from "../../../staging/cri/grpc/rpc.js";

/**
 * The API between the kubelet and device plugins. The kubelet serves Registration, and each plugin DevicePlugin.
 * Mirrors staging/src/k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1/api.proto and constants.go.
 */
export const DEVICE_PLUGIN_VERSION = "v1beta1";
/** The folder of the sockets, in the kubelet's: upstream `/var/lib/kubelet/device-plugins`. */
export const DEVICE_PLUGINS_FOLDER = "device-plugins";
/** The kubelet's socket in it. */
export const KUBELET_SOCKET = "kubelet.sock";
/** The health of a device that can be used. Every other one counts as unhealthy. */
export const HEALTHY = "Healthy";
export const UNHEALTHY = "Unhealthy";
export const PRE_START_CONTAINER_TIMEOUT_MS = 30_000;

const Empty = message("Empty", {});

export const DevicePluginOptions = message("DevicePluginOptions", {
  preStartRequired: bool(1),
  getPreferredAllocationAvailable: bool(2),
});

export const RegisterRequest = message("RegisterRequest", {
  /** `v1beta1` */
  version: string(1),
  /** the name of the plugin's socket, in the folder of the kubelet's */
  endpoint: string(2),
  /** `example.com/gpu` */
  resourceName: string(3),
  options: one(4, DevicePluginOptions),
});

const NUMANode = message("NUMANode", { id: int64(1, "ID") });
const TopologyInfo = message("TopologyInfo", { nodes: many(1, NUMANode) });

export const Device = message("Device", {
  /** unique among the devices of the resource; at most 63 characters */
  id: string(1, "ID"),
  health: string(2),
  topology: one(3, TopologyInfo),
});

/** All devices of the plugin. It is sent again whenever one of them changes. */
const ListAndWatchResponse = message("ListAndWatchResponse", { devices: many(1, Device) });

const ContainerPreferredAllocationRequest = message("ContainerPreferredAllocationRequest", {
  availableDeviceIds: strings(1, "available_deviceIDs"),
  mustIncludeDeviceIds: strings(2, "must_include_deviceIDs"),
  allocationSize: int32(3),
});
const ContainerPreferredAllocationResponse = message("ContainerPreferredAllocationResponse", {
  deviceIds: strings(1, "deviceIDs"),
});
const PreferredAllocationRequest = message("PreferredAllocationRequest", {
  containerRequests: many(1, ContainerPreferredAllocationRequest),
});
const PreferredAllocationResponse = message("PreferredAllocationResponse", {
  containerResponses: many(1, ContainerPreferredAllocationResponse),
});

const Mount = message("Mount", { containerPath: string(1), hostPath: string(2), readOnly: bool(3) });
const DeviceSpec = message("DeviceSpec", {
  containerPath: string(1),
  hostPath: string(2),
  /** some of r, w, m */
  permissions: string(3),
});
const ContainerAllocateRequest = message("ContainerAllocateRequest", { devicesIds: strings(1, "devicesIDs") });

/** What a container gets to use its devices. */
export const ContainerAllocateResponse = message("ContainerAllocateResponse", {
  envs: stringMap(1),
  mounts: many(2, Mount),
  devices: many(3, DeviceSpec),
  annotations: stringMap(4),
});
const AllocateRequest = message("AllocateRequest", { containerRequests: many(1, ContainerAllocateRequest) });
const AllocateResponse = message("AllocateResponse", { containerResponses: many(1, ContainerAllocateResponse) });

const PreStartContainerRequest = message("PreStartContainerRequest", { devicesIds: strings(1, "devicesIDs") });
const PreStartContainerResponse = message("PreStartContainerResponse", {});

/** What the kubelet serves on its socket. */
export const REGISTRATION = {
  register: rpcsOf("v1beta1.Registration").unary("Register", RegisterRequest, Empty),
} as const;

const plugin = rpcsOf("v1beta1.DevicePlugin");

/** What each plugin serves on its own socket. */
export const DEVICE_PLUGIN = {
  getDevicePluginOptions: plugin.unary("GetDevicePluginOptions", Empty, DevicePluginOptions),
  listAndWatch: plugin.stream("ListAndWatch", Empty, ListAndWatchResponse),
  getPreferredAllocation: plugin.unary(
    "GetPreferredAllocation",
    PreferredAllocationRequest,
    PreferredAllocationResponse,
  ),
  allocate: plugin.unary("Allocate", AllocateRequest, AllocateResponse),
  preStartContainer: plugin.unary("PreStartContainer", PreStartContainerRequest, PreStartContainerResponse),
} as const;
