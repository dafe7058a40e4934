import { badResponse, type RpcResult } from "../../cri/status.js";

/** A result with its value made into another one. */
export function mapped<T, U>(result: RpcResult<T>, map: (value: T) => U): RpcResult<U> {
  return result.outcome === "ok" ? { outcome: "ok", value: map(result.value) } : result;
}

/** A result of a call whose response says nothing. */
export function done(result: RpcResult<unknown>): RpcResult<void> {
  return mapped(result, () => undefined);
}

/** A result that fails when `complaint` finds something: a text in upstream's words. */
export function checked<T>(result: RpcResult<T>, complaint: (value: T) => string | undefined): RpcResult<T> {
  const text = result.outcome === "ok" ? complaint(result.value) : undefined;
  return text === undefined ? result : badResponse(text);
}
