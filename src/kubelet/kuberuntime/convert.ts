import { isIP } from "node:net";
import { CONTAINER_NAME_LABEL } from "../../staging/cri/labels.js";
import {
  ContainerState as CriContainerState,
  NamespaceMode,
  PodSandboxState,
} from "../../staging/cri/messages/enums.js";
import type { ContainerState, ContainerStatus, SandboxStatus } from "../container/runtime.js";
import { getContainerInfoFromAnnotations } from "./labels.js";
import type { ReportedContainer, ReportedSandbox } from "./runtime-service.js";

/** Mirrors toKubeContainerState. A state that this CRI version does not define is unknown. */
export function toKubeContainerState(state: number): ContainerState {
  switch (state) {
    case CriContainerState.CONTAINER_CREATED:
      return "created";
    case CriContainerState.CONTAINER_RUNNING:
      return "running";
    case CriContainerState.CONTAINER_EXITED:
      return "exited";
    default:
      return "unknown";
  }
}

/** Mirrors SandboxToContainerState in pkg/kubelet/container/helpers.go. */
export function sandboxToContainerState(state: number): ContainerState {
  if (state === PodSandboxState.SANDBOX_READY) return "running";
  return state === PodSandboxState.SANDBOX_NOTREADY ? "exited" : "unknown";
}

/** Nanoseconds since 1970 as Unix ms: whole ms are exact, the fraction is as precise as a number allows (a quarter of a µs). */
export function toMs(nanoseconds: bigint): number {
  return Number(nanoseconds / 1_000_000n) + Number(nanoseconds % 1_000_000n) / 1e6;
}

/** Mirrors toKubeContainerStatus. @param message what is appended to the runtime's message: the termination message */
export function toKubeContainerStatus(status: ReportedContainer, message: string): ContainerStatus {
  const { hash, restartCount } = getContainerInfoFromAnnotations(status.annotations);
  const state = toKubeContainerState(status.state);
  // Assigned rather than spread: the first relist converts thousands, and spreading is slow until V8 has optimized
  // it.
  const converted: { -readonly [K in keyof ContainerStatus]: ContainerStatus[K] } = {
    containerId: status.id,
    name: status.labels[CONTAINER_NAME_LABEL] ?? "",
    state,
    createdAtMs: toMs(status.createdAt),
    exitCode: 0,
    image: status.image?.image ?? "",
    imageId: status.imageRef,
    hash,
    restartCount,
  };
  if (state !== "created") converted.startedAtMs = toMs(status.startedAt);
  if (state !== "exited") {
    if (message !== "") converted.message = message;
    return converted;
  }
  converted.finishedAtMs = toMs(status.finishedAt);
  converted.exitCode = status.exitCode;
  if (status.reason !== "") converted.reason = status.reason;
  const said = [status.message, message].filter((text) => text !== "").join(": ");
  if (said !== "") converted.message = said;
  return converted;
}

export function toSandboxStatus(status: ReportedSandbox): SandboxStatus {
  const usesHostNetwork = status.linux?.namespaces?.options?.network === NamespaceMode.NODE;
  return {
    sandboxId: status.id,
    state: status.state === PodSandboxState.SANDBOX_READY ? "ready" : "not-ready",
    createdAtMs: toMs(status.createdAt),
    attempt: status.metadata?.attempt ?? 0,
    ips: determinePodSandboxIps(status),
    usesHostNetwork,
    ...(!usesHostNetwork && status.network?.ip === "" ? { lacksIp: true } : {}),
  };
}

/**
 * The pod's addresses; empty in the host's network. One invalid address invalidates all of them.
 * Mirrors determinePodSandboxIPs in pkg/kubelet/kuberuntime/kuberuntime_sandbox.go.
 */
export function determinePodSandboxIps({ network }: Pick<ReportedSandbox, "network">): readonly string[] {
  if (network === undefined) return [];
  const ips = [...(network.ip === "" ? [] : [network.ip]), ...network.additionalIps.map(({ ip }) => ip)];
  return ips.every(isAddress) ? ips : [];
}

/** As net.ParseIP before Go 1.17: leading zeros are allowed. */
function isAddress(ip: string): boolean {
  return isIP(ip) !== 0 || isIP(ip.replace(/(^|\.)0+(?=\d)/g, "$1")) === 4;
}

/** 0 differs from unknown. */
export function toNumber(value: { readonly value: bigint } | undefined): number | undefined {
  return value === undefined ? undefined : Number(value.value);
}
