import { targetOptions } from "../../cli/options.js";
import type { JoinOptions } from "../../testbed/join-plan.js";
import type { TargetOptions } from "../../testbed/target.js";
import { defined } from "../../util/defined.js";

/** The flags of `kubelab node`. */
export interface NodeCommandOptions extends TargetOptions {
  readonly name: string;
  readonly cpu: string;
  readonly memory: string;
  readonly pods: string;
  readonly manifestDir?: string;
  readonly manifestUrl?: string;
  readonly cri?: string;
  readonly server?: string;
  readonly token?: string;
  readonly caCertHash?: readonly string[];
  readonly rootDir?: string;
  readonly port?: number;
  /** the server's certificate comes from the cluster */
  readonly rotateServerCertificates?: boolean;
  readonly clusterDns?: readonly string[];
  readonly clusterDomain?: string;
  /** bytes; negative: logs are not rotated */
  readonly containerLogMaxSize: number;
  readonly containerLogMaxFiles: number;
  /** ms */
  readonly duration?: number;
  /** a module whose function does the work of pods */
  readonly handler?: string;
  /** a shell command that does */
  readonly handlerCommand?: string;
  /** ms */
  readonly handlerTimeout?: number;
}

/** As `kubelab bootstrap`: a request that nobody signs within the hour is given up. */
const JOIN_TIMEOUT_MS = 3_600_000;

/** What of the flags is about joining. */
export function toJoinOptions(options: NodeCommandOptions): JoinOptions {
  const { name, cpu, memory, pods, rootDir, server, token, caCertHash } = options;
  return {
    ...targetOptions(options),
    node: name,
    cpu,
    memory,
    pods,
    approve: "auto",
    timeout: JOIN_TIMEOUT_MS,
    ...defined({ dir: rootDir, server, token, caCertHash }),
  };
}
