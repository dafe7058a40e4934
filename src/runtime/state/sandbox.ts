import type { Encoded } from "../../apimachinery/protobuf/fields.js";
import type { PodSandboxConfig, PodSandboxMetadata } from "../../cri/messages/sandbox.js";
import type { Ports } from "../../shell/process/ports.js";
import type { Container } from "./container.js";

export type SandboxState = "ready" | "not-ready";

/** A pod sandbox: what its containers share. */
export class Sandbox {
  readonly containers = new Set<Container>();
  state: SandboxState = "ready";
  /** its list item; undefined after a change */
  encoded: Encoded | undefined;
  isRemoving = false;

  constructor(
    readonly sandboxId: string,
    /** unique among sandboxes: `name_namespace_uid_attempt` */
    readonly name: string,
    readonly config: PodSandboxConfig,
    readonly metadata: PodSandboxMetadata,
    readonly runtimeHandler: string,
    /** nanoseconds */
    readonly createdAt: bigint,
    /** undefined in the host network */
    readonly ip: string | undefined,
    readonly ports: Ports,
  ) {}

  /** `default/web`, for people */
  get podName(): string {
    return `${this.metadata.namespace}/${this.metadata.name}`;
  }

  get usesHostNetwork(): boolean {
    return this.ip === undefined;
  }
}

/** Mirrors containerd's makeSandboxName. */
export function sandboxName({ name, namespace, uid, attempt }: PodSandboxMetadata): string {
  return [name, namespace, uid, attempt].join("_");
}
