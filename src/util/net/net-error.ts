/** The ways a connection fails, as Linux names them. */
export type NetErrno = "ECONNREFUSED" | "ECONNRESET" | "EHOSTUNREACH" | "ENETUNREACH" | "ETIMEDOUT";

const TEXTS: Readonly<Record<NetErrno, string>> = {
  ECONNREFUSED: "Connection refused",
  ECONNRESET: "Connection reset by peer",
  EHOSTUNREACH: "No route to host",
  ENETUNREACH: "Network is unreachable",
  ETIMEDOUT: "Connection timed out",
};

/** A connection or a datagram failed in the pod network. Its message is strerror's. */
export class NetError extends Error {
  override readonly name = "NetError";
  constructor(readonly code: NetErrno) {
    super(TEXTS[code]);
  }
}

export function isNetErrno(value: unknown): value is NetErrno {
  return typeof value === "string" && Object.hasOwn(TEXTS, value);
}
