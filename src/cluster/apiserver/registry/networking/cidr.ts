import { BlockList, isIP } from "node:net";

/** A range of addresses. */
export interface Cidr {
  readonly address: string;
  readonly family: "ipv4" | "ipv6";
  readonly prefixLength: number;
}

/** Mirrors ValidateCIDR in pkg/apis/core/validation/validation.go. @returns undefined for any other text */
export function parseCidr(text: string): Cidr | undefined {
  const [address = "", length = "", ...more] = text.split("/");
  const version = isIP(address);
  if (version === 0 || more.length > 0 || !/^\d{1,3}$/.test(length)) return undefined;
  const prefixLength = Number(length);
  if (prefixLength > (version === 4 ? 32 : 128)) return undefined;
  return { address, family: version === 4 ? "ipv4" : "ipv6", prefixLength };
}

/** Reports whether `inner` is a smaller part of `outer`. */
export function isStrictSubset(inner: Cidr, outer: Cidr): boolean {
  if (inner.family !== outer.family || inner.prefixLength <= outer.prefixLength) return false;
  const range = new BlockList();
  range.addSubnet(outer.address, outer.prefixLength, outer.family);
  return range.check(inner.address, inner.family);
}
