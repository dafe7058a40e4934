import type { ErrorMessage } from "../../cluster/runtime/host/messages.js";
import type { Taint } from "../../staging/apimachinery/api/node.js";
import type { ClockReading } from "../../util/clock.js";
import type { HandlerEvent, HandlerTask } from "../virtual/handler.js";
import type { ClusterOptions, RuntimeOptions } from "./api.js";

/** A cluster that has started in the other process. */
export interface StartedCluster {
  readonly url: string;
  readonly kubeVersion: string;
  readonly kubeconfig: string;
  readonly kubeconfigFile: string;
  readonly clock: ClockReading;
  /** of the administrator */
  readonly admin: AdminConfig;
}

/** The parts of a RestConfig that can be sent. */
export interface AdminConfig {
  readonly server: string;
  readonly caPem?: string;
  readonly clientCertificatePem?: string;
  readonly clientKeyPem?: string;
  readonly token?: string;
}

export interface NodeRequest {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  /** virtual pods: a module, or the function that the program keeps for this node */
  readonly handler?: { readonly module: string } | "function";
  readonly timeoutMs?: number;
}

/** The calls of a program to its process: parameters and result. */
export interface Calls {
  startCluster: { readonly given: ClusterOptions; readonly result: StartedCluster };
  /** refuses the name of a running node */
  claimNode: { readonly given: string; readonly result: undefined };
  startNode: { readonly given: NodeRequest; readonly result: undefined };
  closeNode: { readonly given: string; readonly result: undefined };
  setSpeed: { readonly given: number; readonly result: ClockReading };
  startRuntime: { readonly given: RuntimeOptions; readonly result: string };
}

export type Method = keyof Calls;

/** From the program to its process. */
export type ProgramMessage =
  | { readonly type: "call"; readonly id: number; readonly method: Method; readonly given: unknown }
  /** an event from the function of a virtual pod */
  | { readonly type: "work"; readonly run: number; readonly event: WorkEvent }
  | { readonly type: "close" };

/** Like a HandlerEvent; the process checks the function's reports and result. */
export type WorkEvent =
  | Extract<HandlerEvent, { readonly kind: "log" }>
  | { readonly kind: "progress"; readonly fraction: unknown; readonly text: unknown }
  | { readonly kind: "returned"; readonly value: unknown }
  | { readonly kind: "thrown"; readonly message: string };

/** From the process to its program. */
export type TestbedMessage =
  | { readonly type: "answer"; readonly id: number; readonly value: unknown }
  | { readonly type: "failed"; readonly id: number; readonly error: ErrorMessage }
  | { readonly type: "run"; readonly run: number; readonly node: string; readonly task: HandlerTask }
  /** the function of this run should stop */
  | { readonly type: "abort"; readonly run: number; readonly reason: string };
