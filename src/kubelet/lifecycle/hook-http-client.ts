import { request } from "node:http";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import { onAbort } from "../../util/async/abort.js";
import { joinHostPort, type ProbeDialer } from "../prober/probe-dialer.js";
import type { HookHttpClient, HookTarget } from "./handlers.js";

/**
 * Sends a hook's request over the same path as probes: a pod's address may not be reachable from this machine, and a
 * spec must not make this machine connect elsewhere. The response body is not read.
 *
 * Mirrors runHTTPHandler in pkg/kubelet/lifecycle/handlers.go. An HTTPS server's certificate is not verified.
 */
export class DialingHookClient implements HookHttpClient {
  constructor(readonly dialer: ProbeDialer) {}

  async get(
    url: string,
    headers: readonly { readonly name: string; readonly value: string }[],
    { podUid, isPod }: HookTarget,
    signal: AbortSignal,
  ): Promise<number> {
    const { protocol, hostname, port: written, pathname, search } = new URL(url);
    const isTls = protocol === "https:";
    const host = hostname.replace(/^\[|\]$/g, "");
    const port = Number(written === "" ? (isTls ? 443 : 80) : written);
    const plain = await this.dialer.dial({ podUid, host, port, isPod }, signal);
    const stream = isTls ? connectTls({ socket: plain, rejectUnauthorized: false, servername: "" }) : plain;
    // The request reports the connection's errors; errors after its end do not matter.
    for (const one of [plain, stream]) one.on("error", () => {});
    try {
      const all: Record<string, string> = { host: joinHostPort(host, port), "user-agent": "kube-lifecycle" };
      for (const { name, value } of headers) all[name.toLowerCase()] = value;
      return await statusOf(stream, `${pathname}${search}`, { ...all, connection: "close" }, signal);
    } finally {
      stream.destroy();
      plain.destroy();
    }
  }
}

async function statusOf(
  stream: Duplex,
  path: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<number> {
  const outgoing = request({ createConnection: () => stream, method: "GET", path, headers });
  using _ = onAbort(signal, () => outgoing.destroy(signal.reason));
  return await new Promise((resolve, reject) => {
    outgoing.on("error", reject);
    outgoing.on("response", (incoming) => {
      // The body is discarded, and so are errors while it arrives.
      incoming.on("error", () => {});
      incoming.resume();
      resolve(incoming.statusCode ?? 0);
    });
    outgoing.end();
  });
}
