import type { IdentityParts } from "../certificate/bootstrap.js";
import type { WithAdmission } from "./new-main-kubelet/admission.js";
import type { newSyncLoop } from "./new-main-kubelet/sync-loop.js";
import type { KubeletDeps, PodHooks } from "./options.js";

/** The parts of a kubelet, as newMainKubelet makes them. Mirrors the type Kubelet in pkg/kubelet/kubelet.go. */
export type Kubelet = Readonly<WithAdmission & ReturnType<typeof newSyncLoop>>;

/** Hooks for inspectors and virtual pods. */
export interface KubeletHooks extends PodHooks {
  /** in place of what the node's request for its first certificate is made with */
  readonly identity?: IdentityParts;
  /** called when the kubelet is made, before anything runs */
  readonly made?: (kubelet: Kubelet) => void;
}

export interface HookedDeps extends KubeletDeps {
  readonly hooks?: KubeletHooks;
}

/** A kubelet that has registered its node and runs its pods. */
export interface RunningKubelet {
  readonly nodeName: string;
  /** `https://127.0.0.1:6443` */
  readonly apiServer: string;
  /** of the kubelet's server: `https://127.0.0.1:10250` */
  readonly url: string;
  readonly kubelet: Kubelet;
  /** the runtime and its network report no problem */
  isReady(): boolean;
  /** Rejects when the kubelet cannot go on; resolves once it is closed. */
  readonly done: Promise<void>;
  /** Stops the kubelet. Its pods keep running, and the node's next kubelet adopts them. Safe to call twice. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
