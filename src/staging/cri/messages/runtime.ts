/** The runtime itself: version, status, configuration. */

import { bool, type Decoded, enumeration, many, one, string, stringMap } from "../../apimachinery/protobuf/fields.js";
import { message } from "../../apimachinery/protobuf/message.js";
import { CgroupDriver } from "./enums.js";

export const VersionRequest = message("VersionRequest", { version: string(1) });

export const VersionResponse = message("VersionResponse", {
  version: string(1),
  runtimeName: string(2),
  runtimeVersion: string(3),
  runtimeApiVersion: string(4),
});
export type VersionResponse = Decoded<typeof VersionResponse>;

const NetworkConfig = message("NetworkConfig", { podCidr: string(1) });

export const RuntimeConfig = message("RuntimeConfig", { networkConfig: one(1, NetworkConfig) });

export const UpdateRuntimeConfigRequest = message("UpdateRuntimeConfigRequest", {
  runtimeConfig: one(1, RuntimeConfig),
});

export const UpdateRuntimeConfigResponse = message("UpdateRuntimeConfigResponse", {});

/** The kubelet needs two of them to be true: RuntimeReady and NetworkReady. */
const RuntimeCondition = message("RuntimeCondition", {
  type: string(1),
  status: bool(2),
  reason: string(3),
  message: string(4),
});

const RuntimeStatus = message("RuntimeStatus", { conditions: many(1, RuntimeCondition) });

export const StatusRequest = message("StatusRequest", { verbose: bool(1) });

const RuntimeHandlerFeatures = message("RuntimeHandlerFeatures", {
  recursiveReadOnlyMounts: bool(1),
  userNamespaces: bool(2),
});

/** The default handler has an empty name. */
const RuntimeHandler = message("RuntimeHandler", { name: string(1), features: one(2, RuntimeHandlerFeatures) });

const RuntimeFeatures = message("RuntimeFeatures", {
  supplementalGroupsPolicy: bool(1),
  userNamespacesHostNetwork: bool(2),
});

export const StatusResponse = message("StatusResponse", {
  status: one(1, RuntimeStatus),
  /** JSON texts by name, for a verbose request */
  info: stringMap(2),
  runtimeHandlers: many(3, RuntimeHandler),
  features: one(4, RuntimeFeatures),
});
export type StatusResponse = Decoded<typeof StatusResponse>;

export const RuntimeConfigRequest = message("RuntimeConfigRequest", {});

const LinuxRuntimeConfiguration = message("LinuxRuntimeConfiguration", {
  cgroupDriver: enumeration(1, { CgroupDriver }),
});

export const RuntimeConfigResponse = message("RuntimeConfigResponse", { linux: one(1, LinuxRuntimeConfiguration) });
export type RuntimeConfigResponse = Decoded<typeof RuntimeConfigResponse>;
