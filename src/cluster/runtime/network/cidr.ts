import { addressNumber } from "../../../util/net/ipv4.js";
import { invalid } from "../errors.js";

/**
 * @param text `10.244.0.0/16` @returns the first address as a number, and the number of addresses @throws RpcError
 * InvalidArgument
 */
export function parseCidr(text: string): { readonly base: number; readonly size: number } {
  const match = /^(\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})\/(\d{1,2})$/.exec(text.split(",")[0] ?? "");
  const address = addressNumber(match?.[1] ?? "");
  const prefix = Number(match?.[2]);
  if (match === null || prefix < 8 || prefix > 29 || Number.isNaN(address)) {
    throw invalid(`pod CIDR "${text}" is not an IPv4 network such as 10.244.0.0/16`);
  }
  const size = 2 ** (32 - prefix);
  return { base: Math.floor(address / size) * size, size };
}
