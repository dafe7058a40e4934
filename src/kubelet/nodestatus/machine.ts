import { readFileSync } from "node:fs";
import { release } from "node:os";

/** What the kubelet reports of the machine that it runs on. */
export interface MachineFacts {
  readonly machineId: string;
  readonly bootId: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  /** as Go spells them: linux, amd64 */
  readonly operatingSystem: string;
  readonly architecture: string;
  readonly internalIp: string;
}

/**
 * What pods run on, in Go's words. The embedded runtime plays a Linux machine wherever it runs, and a runtime that is
 * reached over a Unix socket or TCP is one of Linux; the machine under this process may be any.
 */
export const NODE_OS = "linux";

/** Go's names for what Node calls x64 and so on. */
const GO_ARCH: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386" };

/**
 * Mirrors pkg/kubelet/nodestatus/setters.go (MachineInfo, VersionInfo, NodeAddress), which ask cAdvisor.
 * Differs: an id that cannot be read here is the node's name, so that two nodes of one machine can be told apart. The
 * address is that of this machine for itself: the kubelet's server listens there and nowhere else.
 */
export function readMachineFacts(nodeName: string): MachineFacts {
  return {
    machineId: nodeName,
    bootId: readLine("/proc/sys/kernel/random/boot_id") ?? nodeName,
    kernelVersion: release(),
    osImage: osImage(),
    operatingSystem: NODE_OS,
    architecture: GO_ARCH[process.arch] ?? process.arch,
    internalIp: "127.0.0.1",
  };
}

function readLine(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return undefined; // Not a Linux machine, or a sandbox without it.
  }
}

function osImage(): string {
  const text = readLine("/etc/os-release") ?? "";
  return /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(text)?.[1] ?? process.platform;
}
