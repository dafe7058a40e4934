/** Wrappers and small messages that other messages contain. */

import {
  bool,
  enumeration,
  int32,
  int64,
  many,
  one,
  string,
  stringMap,
  strings,
  uint32,
  uint64,
} from "../../apimachinery/protobuf/fields.js";
import { message } from "../../apimachinery/protobuf/message.js";
import { MountPropagation, Protocol } from "./enums.js";

/** An int64 that may be absent. */
export const Int64Value = message("Int64Value", { value: int64(1) });

/** A uint64 that may be absent. */
export const UInt64Value = message("UInt64Value", { value: uint64(1) });

export const KeyValue = message("KeyValue", { key: string(1), value: string(2) });

/** A run of user or group IDs, on the host and in the container. */
export const IDMapping = message("IDMapping", { hostId: uint32(1), containerId: uint32(2), length: uint32(3) });

/** Annotations choose the platform's image if there are several. */
export const ImageSpec = message("ImageSpec", {
  /** name, digest or image ID */
  image: string(1),
  annotations: stringMap(2),
  /** as the user wrote it, if known */
  userSpecifiedImage: string(18),
  runtimeHandler: string(19),
  /** for image volumes: the digest in use */
  imageRef: string(20),
});

export const DNSConfig = message("DNSConfig", { servers: strings(1), searches: strings(2), options: strings(3) });

/** A host port of 0 means no host port. */
export const PortMapping = message("PortMapping", {
  protocol: enumeration(1, { Protocol }),
  containerPort: int32(2),
  hostPort: int32(3),
  hostIp: string(4),
});

export const Mount = message("Mount", {
  containerPath: string(1),
  hostPath: string(2),
  readonly: bool(3),
  selinuxRelabel: bool(4),
  propagation: enumeration(5, { MountPropagation }),
  uidMappings: many(6, IDMapping, "uidMappings"),
  gidMappings: many(7, IDMapping, "gidMappings"),
  recursiveReadOnly: bool(8),
  /** an image volume; then there is no hostPath */
  image: one(9, ImageSpec),
  imageSubPath: string(10),
});

export const Device = message("Device", {
  containerPath: string(1),
  hostPath: string(2),
  /** some of r, w, m */
  permissions: string(3),
});

export const CDIDevice = message("CDIDevice", { name: string(1) });
