import type { RemoteCommandOptions } from "./remote-command/session.js";

/** An invalid query, answered with 400. Returned, not thrown. */
export interface BadQuestion {
  readonly problem: string;
}

/**
 * The streams that an exec or attach requests, in the kubelet's parameters (`input`, `output`, `error`, `tty`). Pure.
 *
 * Mirrors pkg/kubelet/cri/streaming/remotecommand/httpstream.go (NewOptions).
 */
export function remoteCommandOptions(query: URLSearchParams): RemoteCommandOptions | BadQuestion {
  const isOne = (name: string) => query.get(name) === "1";
  const tty = isOne("tty");
  const streams = { stdin: isOne("input"), stdout: isOne("output"), stderr: isOne("error") && !tty, tty };
  return streams.stdin || streams.stdout || streams.stderr
    ? streams
    : { problem: "you must specify at least 1 of stdin, stdout, stderr" };
}

const MAX_PORT = 65_535;

/**
 * The ports in a port-forward's query: required over a WebSocket; with SPDY each stream names its own. Pure.
 *
 * Mirrors pkg/kubelet/cri/streaming/portforward/websocket.go (NewV4Options).
 */
export function portForwardPorts(query: URLSearchParams, isWebSocket: boolean): readonly number[] | BadQuestion {
  if (!isWebSocket) return [];
  const texts = query.getAll("port");
  if (texts.length === 0) return { problem: 'query parameter "port" is required' };
  const ports: number[] = [];
  for (const text of texts) {
    if (text === "") return { problem: 'query parameter "port" cannot be empty' };
    for (const part of text.split(",")) {
      const quoted = JSON.stringify(text);
      const parsing = `unable to parse ${quoted} as a port: strconv.ParseUint: parsing ${JSON.stringify(part)}`;
      if (!/^\d+$/.test(part)) return { problem: `${parsing}: invalid syntax` };
      if (Number(part) > MAX_PORT) return { problem: `${parsing}: value out of range` };
      if (Number(part) < 1) return { problem: `port ${quoted} must be > 0` };
      ports.push(Number(part));
    }
  }
  return ports;
}

/** Mirrors IsUpgradeRequest in k8s.io/apimachinery/pkg/util/httpstream/httpstream.go. */
export function isUpgradeRequest(headers: Readonly<Record<string, string | string[] | undefined>>): boolean {
  return String(headers["connection"] ?? "")
    .toLowerCase()
    .includes("upgrade");
}
