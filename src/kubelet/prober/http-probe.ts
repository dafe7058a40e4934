import { type IncomingMessage, request } from "node:http";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import type { V1HTTPGetAction } from "@kubernetes/client-node";
import type { Wire } from "../../staging/apimachinery/wire.js";
import { onAbort } from "../../util/async/abort.js";
import type { Clock } from "../../util/clock.js";
import { messageOf } from "../../util/errors.js";
import { DialError, joinHostPort, type ProbeDialer, type ProbeTarget } from "./probe-dialer.js";
import { ProbeTimeout, withTimeout } from "./timeout.js";

/** The result of a probe. `warning` counts as success. Mirrors probe.Result in pkg/probe/probe.go. */
export interface ProbeOutcome {
  readonly result: "success" | "failure" | "warning";
  readonly output: string;
}

/** How much of the body is read. Mirrors maxRespBodyLength in pkg/probe/http/http.go. */
const MAX_BODY_BYTES = 10 * 1024;
const MAX_REDIRECTS = 10;

export interface HttpProbeDeps {
  readonly dialer: ProbeDialer;
  readonly clock: Clock;
}

export interface HttpProbeOptions {
  readonly podUid: string;
  readonly podIp: string;
  readonly port: number;
  readonly timeoutMs: number;
  /** `1.25` */
  readonly kubeVersion: string;
}

/**
 * Sends a GET request to the container: 200 to 399 succeed.
 *
 * Mirrors pkg/probe/http/http.go (DoHTTPProbe, RedirectChecker) and request.go (NewRequestForHTTPGetAction). An HTTPS
 * server's certificate is not verified. Redirects are followed within the host; one to another host is a warning.
 * @throws the signal's reason
 */
export async function probeHttp(
  deps: HttpProbeDeps,
  action: Wire<V1HTTPGetAction>,
  options: HttpProbeOptions,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const { host = "", scheme = "HTTP", path = "/" } = action;
  const isPod = host === "";
  const origin = `${scheme.toLowerCase()}://${joinHostPort(isPod ? options.podIp : host, options.port)}`;
  let url: URL;
  try {
    url = new URL(path.startsWith("/") ? `${origin}${path}` : `${origin}/${path}`);
  } catch {
    return { result: "failure", output: `invalid URL ${JSON.stringify(origin + path)}` };
  }
  try {
    return await withTimeout(deps.clock, options.timeoutMs, signal, async (inner) => {
      const get = (to: URL) => getOnce(deps, to, { ...options, isPod }, headersOf(action, options.kubeVersion), inner);
      return follow(url, get);
    });
  } catch (error) {
    signal.throwIfAborted();
    const why =
      error instanceof ProbeTimeout
        ? "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        : error instanceof DialError
          ? error.message
          : `EOF (${messageOf(error)})`;
    return { result: "failure", output: `Get "${origin}${url.pathname}${url.search}": ${why}` };
  }
}

interface Page {
  readonly status: number;
  readonly location: string | undefined;
  readonly body: string;
}

async function follow(first: URL, get: (url: URL) => Promise<Page>): Promise<ProbeOutcome> {
  let url = first;
  for (let redirects = 0; ; redirects++) {
    const { status, location, body } = await get(url);
    if (status >= 300 && status < 400 && location !== undefined) {
      const next = new URL(location, url);
      if (next.hostname === first.hostname) {
        if (redirects < MAX_REDIRECTS) {
          url = next;
          continue;
        }
        const output = `Get "${next.href}": stopped after ${MAX_REDIRECTS} redirects`;
        return { result: "failure", output };
      }
    }
    if (status >= 300 && status < 400) {
      return { result: "warning", output: `Probe terminated redirects, Response body: ${body}` };
    }
    if (status >= 200 && status < 300) return { result: "success", output: body };
    // The body is left out on purpose: it may contain data that readers of events should not see.
    return { result: "failure", output: `HTTP probe failed with statuscode: ${status}` };
  }
}

/** A header in the spec replaces the default; an empty value removes User-Agent and Accept. */
function headersOf({ httpHeaders }: Wire<V1HTTPGetAction>, kubeVersion: string): Record<string, string[]> {
  const headers: Record<string, string[]> = {};
  for (const { name, value } of httpHeaders ?? []) {
    const key = name.toLowerCase();
    headers[key] = [...(headers[key] ?? []), value];
  }
  const usual = { "user-agent": [`kube-probe/${kubeVersion}`], accept: ["*/*"] };
  const all = { ...usual, ...headers };
  for (const key of ["user-agent", "accept"] as const) if (all[key]?.[0] === "") delete (all as typeof headers)[key];
  return { ...all, connection: ["close"] };
}

async function getOnce(
  deps: HttpProbeDeps,
  url: URL,
  options: HttpProbeOptions & { readonly isPod: boolean },
  headers: Readonly<Record<string, string[]>>,
  signal: AbortSignal,
): Promise<Page> {
  const isTls = url.protocol === "https:";
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = Number(url.port === "" ? (isTls ? 443 : 80) : url.port);
  const target: ProbeTarget = { podUid: options.podUid, host, port, isPod: options.isPod };
  const plain = await deps.dialer.dial(target, signal);
  const stream = isTls ? connectTls({ socket: plain, rejectUnauthorized: false, servername: "" }) : plain;
  // The request reports the connection's errors; errors after its end do not matter.
  for (const one of [plain, stream]) one.on("error", () => {});
  try {
    // The Host header has the port as in the spec, even the default port.
    return await exchange(stream, url, { host: [joinHostPort(host, port)], ...headers }, signal);
  } finally {
    stream.destroy();
    plain.destroy();
  }
}

async function exchange(
  stream: Duplex,
  url: URL,
  headers: Readonly<Record<string, string[]>>,
  signal: AbortSignal,
): Promise<Page> {
  const outgoing = request({
    createConnection: () => stream,
    method: "GET",
    path: url.pathname + url.search,
    headers: { ...headers, host: headers["host"]?.[0] ?? url.host },
  });
  using _ = onAbort(signal, () => outgoing.destroy(signal.reason));
  return await new Promise((resolve, reject) => {
    outgoing.on("error", reject);
    outgoing.on("response", (incoming) => {
      const { statusCode = 0, headers: answered } = incoming;
      readBody(incoming).then((body) => resolve({ status: statusCode, location: answered.location, body }), reject);
    });
    outgoing.end();
  });
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of incoming as AsyncIterable<Buffer>) {
    pieces.push(piece);
    size += piece.length;
    // A longer body is not a failure: the rest is not read.
    if (size >= MAX_BODY_BYTES) break;
  }
  return Buffer.concat(pieces).subarray(0, MAX_BODY_BYTES).toString("utf8");
}
