import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { release } from "node:os";
import type { NodeAddress } from "../../staging/apimachinery/api/node.js";

/** What the kubelet reports about its machine. */
export interface MachineFacts {
  readonly machineId: string;
  readonly bootId: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  /** as Go spells them: linux, amd64 */
  readonly operatingSystem: string;
  readonly architecture: string;
  /** besides its name */
  readonly addresses: readonly NodeAddress[];
}

/**
 * The platform that pods run on, in Go's words. The embedded runtime emulates Linux on any machine, and a runtime
 * reached over a Unix socket or TCP is assumed to run on Linux.
 */
export const NODE_OS = "linux";

/** Go's names for Node's architectures (`x64` and so on). */
const GO_ARCH: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386" };

/**
 * Mirrors pkg/kubelet/nodestatus/setters.go (MachineInfo, VersionInfo, NodeAddress), which read cAdvisor.
 * Differs: the machine's id is derived from the node's name, so that two nodes of one machine differ.
 * @param addresses default: this machine's loopback address, because the kubelet's server listens only there
 */
export function readMachineFacts(nodeName: string, addresses: readonly NodeAddress[] = LOOPBACK): MachineFacts {
  return {
    machineId: machineIdOf(nodeName),
    bootId: readLine("/proc/sys/kernel/random/boot_id") ?? nodeName,
    kernelVersion: release(),
    osImage: osImage(),
    operatingSystem: NODE_OS,
    architecture: GO_ARCH[process.arch] ?? process.arch,
    addresses,
  };
}

const MACHINE_ID_DIGITS = 32;

/** /etc/machine-id of a node: its own, although several nodes share one machine. */
export function machineIdOf(nodeName: string): string {
  return createHash("sha256").update(nodeName).digest("hex").slice(0, MACHINE_ID_DIGITS);
}

const LOOPBACK: readonly NodeAddress[] = [{ type: "InternalIP", address: "127.0.0.1" }];

function readLine(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return undefined; // Not a Linux machine, or a sandbox without this file.
  }
}

function osImage(): string {
  const text = readLine("/etc/os-release") ?? "";
  return /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(text)?.[1] ?? process.platform;
}
