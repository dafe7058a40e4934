import type { IncomingMessage } from "node:http";
import type { Cause } from "../../../trace/trace.js";
import { LabError } from "../../../util/errors.js";
import { refusal, statusMessage } from "../rest/answers.js";
import { readBody } from "../rest/body.js";
import type { AskingHeaders } from "../rest/client.js";
import { HttpTransport } from "../rest/http.js";
import { addIdentity, refusedIdentity } from "../rest/identity.js";
import { explainTransportError } from "../rest/transport-errors.js";
import { OutputClosed, writeTo } from "./copy.js";
import { backendProblem, reportRequest, requestCause, type StreamClient } from "./fallback.js";

/**
 * Requests a log and copies it to an output as it arrives, at the output's speed.
 *
 * Mirrors client-go/rest/request.go (Stream).
 *
 * @param path with its query
 * @returns the byte count, and the fact that ended the log; a closed output also ends it
 * @throws LabError as the API client, FAILED if the connection breaks; the signal's reason
 */
export async function streamLog(
  client: StreamClient,
  path: string,
  out: NodeJS.WritableStream,
  signal: AbortSignal,
): Promise<{ readonly bytes: number; readonly cause: Cause }> {
  const { config, clock, random, trace, story } = client;
  const auditId = random.uuid();
  story?.follow([auditId]);
  const transport = new HttpTransport(config);
  const startMs = clock.now();
  const { id, cause, header } = requestCause(trace);
  try {
    const headers: AskingHeaders = { "Audit-ID": auditId, "User-Agent": client.userAgent ?? "kubelab", ...header };
    await addIdentity(headers, config);
    const response = await transport.send({ method: "GET", path, headers, body: undefined }, signal);
    const status = response.statusCode ?? 0;
    const isGood = status >= 200 && status < 300;
    const answer = { status, headers: response.headers, body: isGood ? "" : await readBody(response) };
    const outcome = isGood ? "as it comes" : statusMessage(answer);
    reportRequest(client, { method: "GET", path, status, outcome, durationMs: clock.now() - startMs, auditId }, id);
    if (isGood) return { bytes: await copy(response, out, signal), cause };
    const backend = backendProblem(path.split("?")[0] ?? path, `${status} ${outcome}`);
    throw backend ?? refusal(answer, `GET ${path}`, refusedIdentity(config, clock.now()));
  } catch (error) {
    signal.throwIfAborted();
    throw explainTransportError(error, {
      server: config.server,
      what: `GET ${path}`,
      nowMs: clock.now(),
      timeoutMs: 0,
      viaProxy: config.proxyAgent !== undefined,
      config,
    });
  } finally {
    transport.close();
  }
}

async function copy(response: IncomingMessage, out: NodeJS.WritableStream, signal: AbortSignal): Promise<number> {
  let bytes = 0;
  try {
    for await (const piece of response) {
      bytes += (piece as Buffer).length;
      await writeTo(out, piece as Buffer);
    }
    return bytes;
  } catch (cause) {
    if (cause instanceof OutputClosed) return bytes;
    signal.throwIfAborted();
    const hint = "The API server or the kubelet closed the connection: run the command again with --since.";
    throw new LabError("FAILED", `the log was cut off after ${bytes} bytes`, hint, { cause });
  }
}
