/** `10.244.0.2` as a number; NaN for anything but an IPv4 address. */
export function addressNumber(ip: string): number {
  const bytes = ip.split(".");
  if (bytes.length !== 4 || bytes.some((byte) => !/^\d{1,3}$/.test(byte) || Number(byte) > 255)) return Number.NaN;
  return bytes.reduce((number, byte) => number * 256 + Number(byte), 0);
}

/** The reverse of `addressNumber`. */
export function addressText(number: number): string {
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 0xff).join(".");
}

/** Whether an IPv4 address is of a private network: RFC 1918. */
export function isPrivateAddress(ip: string): boolean {
  const address = addressNumber(ip);
  return address >>> 24 === 10 || address >>> 20 === 0xac1 || address >>> 16 === 0xc0a8;
}
