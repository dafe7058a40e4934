import type { FieldTable, InitFields } from "../apimachinery/protobuf/fields.js";
import type { Actor, RpcFact } from "../trace/events.js";
import type { Trace } from "../trace/trace.js";
import type { Clock } from "../util/clock.js";
import type { Endpoint } from "./endpoint.js";
import { redactMessage } from "./redact.js";
import type { AnyRpc } from "./rpc.js";
import type { RpcFailure } from "./status.js";

interface ReportDeps {
  readonly clock: Clock;
  readonly trace: Trace;
  readonly actor: Actor;
}

/** The lowest trace level that shows calls. */
const RPC_LEVEL = 2;

/** A report of one call; undefined when the trace does not show calls: the first relist makes thousands of them. */
export function reportOf(
  deps: ReportDeps,
  endpoint: Endpoint,
  rpc: AnyRpc,
  request: InitFields<FieldTable>,
): CallReport | undefined {
  return deps.trace.wants(RPC_LEVEL) ? new CallReport(deps, endpoint, rpc, request) : undefined;
}

/** Reports one call to the trace. */
class CallReport {
  readonly #startMs: number;
  /** Kept from the start: the response arrives with the connection's bytes, outside of any step. */
  readonly #causedBy: string | undefined;

  constructor(
    readonly deps: ReportDeps,
    readonly endpoint: Endpoint,
    readonly rpc: AnyRpc,
    readonly request: InitFields<FieldTable>,
  ) {
    this.#startMs = deps.clock.now();
    this.#causedBy = deps.trace.cause;
  }

  succeeded(value: Readonly<Record<string, unknown>>): void {
    const body = this.deps.trace.wantsBodies ? { responseBody: redactMessage(this.rpc.response, value) } : {};
    this.#emit({ code: "OK", ...brought(value), ...body });
  }

  failed(failure: RpcFailure): void {
    this.#emit({ code: failure.code, outcome: failure.message });
  }

  cancelled(): void {
    this.#emit({ outcome: "cancelled" });
  }

  /** The stream's headers have arrived. */
  began(): void {
    this.#emit({ outcome: "streaming" });
  }

  ended(count: number): void {
    this.#emit({ code: "OK", outcome: `the stream ended after ${count} messages` });
  }

  #emit(rest: Partial<RpcFact>): void {
    const { clock, trace, actor } = this.deps;
    const [service = "", method = ""] = this.rpc.path.split(".").at(-1)?.split("/") ?? [];
    const fact: RpcFact = {
      kind: "rpc",
      service,
      method,
      endpoint: this.endpoint.url,
      durationMs: clock.now() - this.#startMs,
      ...(trace.wantsBodies ? { requestBody: redactMessage(this.rpc.request, this.request) } : {}),
      ...rest,
    };
    trace.emit(fact, { actor, ...(this.#causedBy === undefined ? {} : { causedBy: this.#causedBy }) });
  }
}

/** `15 containers`: the length of the response's first list. */
function brought(value: Readonly<Record<string, unknown>>): { readonly outcome?: string } {
  for (const [name, item] of Object.entries(value)) {
    if (Array.isArray(item) && name !== "containersStatuses") return { outcome: `${item.length} ${name}` };
  }
  return {};
}
