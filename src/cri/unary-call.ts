import type { DecodedFields, FieldTable } from "../apimachinery/protobuf/fields.js";
import type { Message } from "../apimachinery/protobuf/message.js";
import type { CallReport } from "./call-report.js";
import type { CallSink } from "./running-call.js";
import { type RpcResult, rpcFailure } from "./status.js";
import type { GrpcStatus } from "./transport/exchange.js";

/** Why a call brought nothing. */
export function failureOf({ code, message }: GrpcStatus) {
  // OK without a message: the call is not what the table says it is.
  return code === "OK" ? rpcFailure("Internal", "the response has no message") : rpcFailure(code, message);
}

/** Makes a promise of a call that has one response. */
export class UnaryCall<Res extends FieldTable> implements CallSink {
  #value: DecodedFields<Res> | undefined;

  constructor(
    readonly response: Message<Res>,
    readonly release: (bytes: Buffer) => void,
    readonly report: CallReport | undefined,
    readonly signal: AbortSignal | undefined,
    readonly resolve: (result: RpcResult<DecodedFields<Res>>) => void,
    readonly reject: (reason: unknown) => void,
  ) {}

  message(bytes: Buffer): void {
    this.#value = this.response.decodeAndRelease(bytes, this.release);
  }

  messageWithin(bytes: Buffer, from: number, to: number): void {
    this.#value = this.response.decodeWithin(bytes, from, to);
  }

  ended(status: GrpcStatus): void {
    const value = this.#value;
    if (status.code === "OK" && value !== undefined) {
      this.report?.succeeded(value);
      this.resolve({ outcome: "ok", value });
      return;
    }
    const failure = failureOf(status);
    this.report?.failed(failure);
    this.resolve(failure);
  }

  aborted(): void {
    this.report?.cancelled();
    this.reject(this.signal?.reason);
  }
}
