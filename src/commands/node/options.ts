import type { KubeletConfiguration } from "../../kubelet/apis/config/defaults.js";
import { podCapacity } from "../../kubelet/nodestatus/resources.js";
import type { HandlerOptions } from "../../lab/virtual/open-handler.js";
import type { Taint } from "../../staging/apimachinery/api/node.js";
import { JOIN_TIMEOUT_MS, type JoinOptions } from "../../testbed/node/join-plan.js";
import type { TargetOptions } from "../../testbed/target/target.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import { targetOptions } from "../cli/options.js";
import type { ContainerGcFlags } from "./container-gc-flags.js";

/** The flags of `kubelab node`. */
export interface NodeCommandOptions
  extends TargetOptions,
    HandlerOptions,
    ContainerGcFlags,
    Pick<JoinOptions, "cpu" | "memory" | "disk" | "server" | "token" | "caCertHash" | "bootstrapKubeconfig"> {
  readonly node: string;
  /** the kubelet's configuration file; other flags win over it */
  readonly config?: string;
  readonly pods?: string | undefined;
  readonly manifestDir?: string;
  readonly manifestUrl?: string;
  readonly cri?: string;
  readonly images?: "known" | "any";
  readonly rootDir?: string;
  readonly port?: number;
  readonly rotateServerCertificates?: boolean;
  readonly nodeLabels?: Readonly<Record<string, string>>;
  readonly registerWithTaints?: readonly Taint[];
  readonly clusterDns?: readonly string[];
  readonly clusterDomain?: string;
  readonly registerNode?: boolean;
  /** ms by which the machine's clock is wrong */
  readonly clockOffset?: number;
  /** ms */
  readonly duration?: number;
}

/** The flags about joining. */
export function toJoinOptions(options: NodeCommandOptions, config: KubeletConfiguration): JoinOptions {
  const { node, cpu, memory, disk, rootDir, server, token, caCertHash, bootstrapKubeconfig, nodeLabels } = options;
  const { registerWithTaints } = config;
  const pods = options.pods ?? String(podCapacity(config, cpu));
  const own = { node, cpu, memory, pods, approve: "auto", timeout: JOIN_TIMEOUT_MS } as const;
  return {
    ...targetOptions(options),
    ...own,
    ...defined({ disk, dir: rootDir, server, token, caCertHash, bootstrapKubeconfig, nodeLabels, registerWithTaints }),
  };
}

/** Checks that the flags fit together. @throws LabError USAGE */
export function checkNodeOptions({
  handler,
  handlerCommand,
  handlerTimeout,
  cri,
  manifestUrl,
  images,
}: NodeCommandOptions): void {
  if (images === "any" && cri !== undefined) {
    throw usage("--images any and --cri contradict each other", "The runtime at --cri pulls from real registries.");
  }
  if (manifestUrl !== undefined && !(URL.canParse(manifestUrl) && /^https?:\/\//.test(manifestUrl))) {
    throw usage(
      `--manifest-url ${JSON.stringify(manifestUrl)} is not an HTTP URL`,
      "Write it as http://HOST:PORT/PATH.",
    );
  }
  const flag = handler !== undefined ? "--handler" : handlerCommand !== undefined ? "--handler-command" : undefined;
  if (handler !== undefined && handlerCommand !== undefined) {
    throw usage(
      "--handler and --handler-command contradict each other",
      "Leave out one of them: a pod has one worker.",
    );
  }
  if (flag === undefined && handlerTimeout !== undefined) {
    throw usage("--handler-timeout is for --handler and --handler-command", "Name the handler that it limits.");
  }
  if (handlerTimeout === 0) {
    throw usage("--handler-timeout 0 leaves no time to work", "Leave it out for no limit, or name one: 5m.");
  }
  if (handlerCommand?.trim() === "") {
    throw usage("--handler-command is empty", "Name a shell command: --handler-command './work.sh'.");
  }
  if (flag === undefined || cri === undefined) return;
  throw usage(
    `${flag} and --cri contradict each other`,
    "With a handler there are no containers: leave out one of them.",
  );
}

function usage(message: string, hint: string): LabError {
  return new LabError("USAGE", message, hint);
}
