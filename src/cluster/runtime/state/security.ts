import type { ContainerConfig } from "../../../staging/cri/messages/container.js";
import { ProfileType } from "../../../staging/cri/messages/enums.js";
import type { PodSandboxConfig } from "../../../staging/cri/messages/sandbox.js";
import type { LinuxContainerSecurityContext } from "../../../staging/cri/messages/security.js";
import { type Confinement, capabilitiesOf } from "../../shell/process/confinement.js";
import { invalid } from "../errors.js";

const SECCOMP_DISABLED = 0;
const SECCOMP_FILTER = 2;
const LOCAL_PROFILE = "localhost/";

/**
 * Checks a container's user and its seccomp profile.
 *
 * Mirrors containerd's generateUserString and generateSeccompSecurityProfile.
 * @throws RpcError InvalidArgument
 */
export function checkSecurity({ linux }: ContainerConfig): void {
  const security = linux?.securityContext;
  if (security === undefined) return;
  const { runAsUser, runAsUsername, runAsGroup } = security;
  if (runAsGroup !== undefined && runAsUser === undefined && runAsUsername === "") {
    throw invalid(`failed to generate user string: user group "${runAsGroup.value}" is specified without user`);
  }
  if (!security.privileged) seccompMode(security);
}

/** The rights of a container's processes, from its configuration and its sandbox's. */
export function confinementOf({ linux }: ContainerConfig, sandbox: PodSandboxConfig): Confinement {
  const security = linux?.securityContext;
  const isPrivileged = security?.privileged === true;
  const { addCapabilities: add = [], dropCapabilities: drop = [] } = security?.capabilities ?? {};
  return {
    capabilities: capabilitiesOf(isPrivileged, { add, drop }),
    noNewPrivileges: security?.noNewPrivs === true,
    seccomp: security === undefined || isPrivileged ? SECCOMP_DISABLED : seccompMode(security),
    sysctls: sandbox.linux?.sysctls ?? {},
    oomScoreAdj: Number(linux?.resources?.oomScoreAdj ?? 0n),
  };
}

function seccompMode({ seccomp, seccompProfilePath }: LinuxContainerSecurityContext): 0 | 2 {
  if (seccomp !== undefined) {
    if (seccomp.profileType !== ProfileType.Localhost && seccomp.localhostRef !== "") {
      throw invalid("seccomp config invalid LocalhostRef must only be set if ProfileType is Localhost");
    }
    return seccomp.profileType === ProfileType.Unconfined ? SECCOMP_DISABLED : SECCOMP_FILTER;
  }
  if (seccompProfilePath === "" || seccompProfilePath === "unconfined") return SECCOMP_DISABLED;
  if (["runtime/default", "docker/default"].includes(seccompProfilePath)) return SECCOMP_FILTER;
  if (seccompProfilePath.startsWith(LOCAL_PROFILE)) return SECCOMP_FILTER;
  throw invalid(`invalid seccomp profile "${seccompProfilePath}"`);
}
