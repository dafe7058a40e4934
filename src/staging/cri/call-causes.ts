import { remember } from "../../util/collections/lru.js";
import type { AnyRpc } from "./grpc/rpc.js";

type Values = Readonly<Record<string, unknown>>;

/** Calls that change the container or sandbox which their request names. */
const CHANGES: Readonly<Record<string, "containerId" | "podSandboxId">> = {
  StartContainer: "containerId",
  StopContainer: "containerId",
  RemoveContainer: "containerId",
  StopPodSandbox: "podSandboxId",
  RemovePodSandbox: "podSandboxId",
};
/** Calls whose response names the container or sandbox that they created. */
const MAKES: Readonly<Record<string, "containerId" | "podSandboxId">> = {
  RunPodSandbox: "podSandboxId",
  CreateContainer: "containerId",
};

/**
 * The last call that changed each container and sandbox. A runtime does not report the causes of the states that it lists, so these calls
 * count as causes: the start of a running container, and the stop, or else the start, of an exited one.
 */
export class CallCauses {
  readonly #calls = new Map<string, string>();

  /** The id of the fact about the call; undefined if another client made it, or if no trace keeps causes. */
  of(containerOrSandboxId: string): string | undefined {
    return this.#calls.get(containerOrSandboxId);
  }

  /** A call is sent: its effects may be seen before its response. */
  began({ name }: AnyRpc, request: Values, factId: string): void {
    this.#remember(CHANGES[name], request, factId);
  }

  made({ name }: AnyRpc, response: Values, factId: string): void {
    this.#remember(MAKES[name], response, factId);
  }

  #remember(field: string | undefined, values: Values, factId: string): void {
    const id = field === undefined ? undefined : values[field];
    if (typeof id === "string") remember(this.#calls, id, factId);
  }
}
