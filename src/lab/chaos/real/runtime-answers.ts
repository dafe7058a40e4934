import type { PullFault } from "../../../cluster/runtime/images/pull-fault.js";
import type { ConditionType } from "../../../cluster/runtime/state/core.js";
import { RpcError } from "../../../staging/cri/grpc/status.js";

type Fields = Readonly<Record<string, unknown>>;

/** How many events a fault still meets; undefined: no fault; infinite: all. */
type Count = number | undefined;

const REFUSALS: Readonly<Record<PullFault["how"], string>> = {
  "not-found": "not found",
  denied: "pull access denied, repository does not exist or may require authorization: authorization failed",
  unreachable: "dial tcp: lookup registry: no such host",
  "rate-limited": "unexpected status: 429 Too Many Requests",
};

/** Answers of a real runtime that a proxy changes: conditions, pulls, events. */
export class RuntimeAnswers {
  readonly conditions = new Map<ConditionType, string>();
  /** by part of the image's name */
  readonly pulls = new Map<string, PullFault["how"]>();
  dropped: Count;
  repeated: Count;

  /** @throws RpcError for a pull that the registry refuses */
  before(rpc: string, request: Fields): void {
    if (rpc !== "PullImage" || this.pulls.size === 0) return;
    const image = String((request["image"] as { readonly image?: string } | undefined)?.image ?? "");
    for (const [part, how] of this.pulls) {
      if (!image.includes(part)) continue;
      const code = how === "not-found" ? "NotFound" : "Unknown";
      throw new RpcError(code, `failed to pull and unpack image "${image}": ${REFUSALS[how]}`);
    }
  }

  after(rpc: string, answer: Fields): Fields {
    if (rpc !== "Status" || this.conditions.size === 0) return answer;
    const { status } = answer as { readonly status?: { readonly conditions?: readonly Fields[] } };
    const conditions = (status?.conditions ?? []).map((one) => {
      const message = this.conditions.get(one["type"] as ConditionType);
      const reason = one["type"] === "NetworkReady" ? "NetworkPluginNotReady" : "RuntimeNotReady";
      return message === undefined ? one : { ...one, status: false, reason, message };
    });
    return { ...answer, status: { ...status, conditions } };
  }

  async *events<T>(events: AsyncIterable<T>): AsyncGenerator<T> {
    for await (const event of events) {
      if (this.#isNext("dropped")) continue;
      yield event;
      if (this.#isNext("repeated")) yield event;
    }
  }

  #isNext(fault: "dropped" | "repeated"): boolean {
    const left = this[fault];
    if (left === undefined) return false;
    this[fault] = left <= 1 ? undefined : left - 1;
    return true;
  }
}
