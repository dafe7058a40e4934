/** Namespaces, users, profiles: the rights of a sandbox or a container. */

import {
  bool,
  type Decoded,
  enumeration,
  int64,
  int64s,
  many,
  one,
  string,
  strings,
} from "../../apimachinery/protobuf/fields.js";
import { message } from "../../apimachinery/protobuf/message.js";
import { NamespaceMode, ProfileType, SupplementalGroupsPolicy } from "./enums.js";
import { IDMapping, Int64Value } from "./values.js";

/** Mode is POD or NODE. */
const UserNamespace = message("UserNamespace", {
  mode: enumeration(1, { NamespaceMode }),
  uids: many(2, IDMapping),
  gids: many(3, IDMapping),
});

export const NamespaceOption = message("NamespaceOption", {
  network: enumeration(1, { NamespaceMode }),
  pid: enumeration(2, { NamespaceMode }),
  ipc: enumeration(3, { NamespaceMode }),
  /** a container of the same pod, for the mode TARGET */
  targetId: string(4),
  usernsOptions: one(5, UserNamespace),
});

const SELinuxOption = message("SELinuxOption", { user: string(1), role: string(2), type: string(3), level: string(4) });

/** localhostRef: the profile's path (seccomp) or name (AppArmor), for the type Localhost. */
export const SecurityProfile = message("SecurityProfile", {
  profileType: enumeration(1, { ProfileType }, "SecurityProfile"),
  localhostRef: string(2),
});

const Capability = message("Capability", {
  addCapabilities: strings(1),
  dropCapabilities: strings(2),
  addAmbientCapabilities: strings(3),
});

/** Applies only to the sandbox, not to the pod's containers. */
export const LinuxSandboxSecurityContext = message("LinuxSandboxSecurityContext", {
  namespaceOptions: one(1, NamespaceOption),
  selinuxOptions: one(2, SELinuxOption),
  runAsUser: one(3, Int64Value),
  readonlyRootfs: bool(4),
  supplementalGroups: int64s(5),
  privileged: bool(6),
  /** deprecated: use seccomp */
  seccompProfilePath: string(7),
  runAsGroup: one(8, Int64Value),
  seccomp: one(9, SecurityProfile),
  apparmor: one(10, SecurityProfile),
  supplementalGroupsPolicy: enumeration(11, { SupplementalGroupsPolicy }),
});

export const LinuxContainerSecurityContext = message("LinuxContainerSecurityContext", {
  capabilities: one(1, Capability),
  privileged: bool(2),
  namespaceOptions: one(3, NamespaceOption),
  selinuxOptions: one(4, SELinuxOption),
  /** this or runAsUsername */
  runAsUser: one(5, Int64Value),
  runAsUsername: string(6),
  readonlyRootfs: bool(7),
  supplementalGroups: int64s(8),
  /** deprecated: use apparmor */
  apparmorProfile: string(9),
  /** deprecated: use seccomp */
  seccompProfilePath: string(10),
  noNewPrivs: bool(11),
  runAsGroup: one(12, Int64Value),
  maskedPaths: strings(13),
  readonlyPaths: strings(14),
  seccomp: one(15, SecurityProfile),
  apparmor: one(16, SecurityProfile),
  supplementalGroupsPolicy: enumeration(17, { SupplementalGroupsPolicy }),
});
export type LinuxContainerSecurityContext = Decoded<typeof LinuxContainerSecurityContext>;

const LinuxContainerUser = message("LinuxContainerUser", {
  uid: int64(1),
  gid: int64(2),
  supplementalGroups: int64s(3),
});

/** The user of a container's first process. */
export const ContainerUser = message("ContainerUser", { linux: one(1, LinuxContainerUser) });

const WindowsNamespaceOption = message("WindowsNamespaceOption", { network: enumeration(1, { NamespaceMode }) });

export const WindowsSandboxSecurityContext = message("WindowsSandboxSecurityContext", {
  runAsUsername: string(1),
  credentialSpec: string(2),
  hostProcess: bool(3),
  namespaceOptions: one(4, WindowsNamespaceOption),
});

export const WindowsContainerSecurityContext = message("WindowsContainerSecurityContext", {
  runAsUsername: string(1),
  credentialSpec: string(2),
  hostProcess: bool(3),
});
