import type { Actor, RpcFact } from "../../trace/events.js";
import { currentScope, runInScope } from "../../trace/scope.js";
import type { Trace } from "../../trace/trace.js";
import { formatTraceparent } from "../../trace/traceparent.js";
import type { Clock } from "../../util/clock.js";
import type { FieldTable, InitFields } from "../apimachinery/protobuf/fields.js";
import type { CallCauses } from "./call-causes.js";
import type { Endpoint } from "./grpc/endpoint.js";
import type { AnyRpc } from "./grpc/rpc.js";
import type { RpcFailure } from "./grpc/status.js";
import { redactMessage } from "./redact.js";

export interface CriDeps {
  readonly clock: Clock;
  readonly trace: Trace;
  /** whose calls these are, for the trace */
  readonly actor: Actor;
}

/** The channel of a call. */
interface ReportedChannel {
  readonly endpoint: Endpoint;
  readonly causes: CallCauses;
}

/** The lowest trace level that shows calls. */
const RPC_LEVEL = 2;

/** A report of one call; undefined when the trace does not show calls: the first relist makes thousands of them. */
export function reportOf(
  deps: CriDeps,
  channel: ReportedChannel,
  rpc: AnyRpc,
  request: InitFields<FieldTable>,
): CallReport | undefined {
  return deps.trace.wants(RPC_LEVEL) ? new CallReport(deps, channel, rpc, request) : undefined;
}

/** Reports one call to the trace. */
class CallReport {
  readonly #startMs: number;
  readonly #id: string;
  /** Kept from the start: the response arrives with the connection's bytes, outside of any step. */
  readonly #scope = currentScope() ?? {};
  readonly #keepsCauses: boolean;
  #isReported = false;

  constructor(
    readonly deps: CriDeps,
    readonly channel: ReportedChannel,
    readonly rpc: AnyRpc,
    readonly request: InitFields<FieldTable>,
  ) {
    this.#startMs = deps.clock.now();
    this.#id = deps.trace.newId();
    this.#keepsCauses = deps.trace.wantsCauses;
    if (this.#keepsCauses) channel.causes.began(rpc, request, this.#id);
  }

  /** The metadata that passes this call's fact to the server; undefined if no trace keeps causes. */
  get traceparent(): string | undefined {
    return this.#keepsCauses ? formatTraceparent(this.#id) : undefined;
  }

  succeeded(value: Readonly<Record<string, unknown>>): void {
    if (this.#keepsCauses) this.channel.causes.made(this.rpc, value, this.#id);
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
      endpoint: this.channel.endpoint.url,
      durationMs: clock.now() - this.#startMs,
      ...(trace.wantsBodies ? { requestBody: redactMessage(this.rpc.request, this.request) } : {}),
      ...rest,
    };
    // The end of a stream is a second fact.
    const ids = this.#isReported ? { causedBy: this.#id } : { id: this.#id };
    this.#isReported = true;
    runInScope(this.#scope, () => trace.emit(fact, { actor, ...ids }));
  }
}

/** `15 containers`: the length of the response's first list. */
function brought(value: Readonly<Record<string, unknown>>): { readonly outcome?: string } {
  for (const [name, item] of Object.entries(value)) {
    if (Array.isArray(item) && name !== "containersStatuses") return { outcome: `${item.length} ${name}` };
  }
  return {};
}
