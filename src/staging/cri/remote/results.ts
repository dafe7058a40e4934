import { badResponse, type RpcResult } from "../grpc/status.js";

/** Converts the value of a result. */
export function mapped<T, U>(result: RpcResult<T>, map: (value: T) => U): RpcResult<U> {
  return result.outcome === "ok" ? { outcome: "ok", value: map(result.value) } : result;
}

/** A result without a value, for a call whose response is empty. */
export function done(result: RpcResult<unknown>): RpcResult<void> {
  return mapped(result, () => undefined);
}

/** Turns a result into a failure when `complaint` returns a problem, in upstream's words. */
export function checked<T>(result: RpcResult<T>, complaint: (value: T) => string | undefined): RpcResult<T> {
  const text = result.outcome === "ok" ? complaint(result.value) : undefined;
  return text === undefined ? result : badResponse(text);
}
