import type { IncomingMessage } from "node:http";
import { refusal, statusMessage } from "../../client-go/rest/answers.js";
import { readBody } from "../../client-go/rest/body.js";
import type { AskingHeaders } from "../../client-go/rest/client.js";
import { HttpTransport } from "../../client-go/rest/http.js";
import { addIdentity, identityInWords } from "../../client-go/rest/identity.js";
import { explainTransportError } from "../../client-go/rest/transport-errors.js";
import { LabError } from "../../util/errors.js";
import { backendProblem, type StreamClient } from "./connect.js";
import { OutputGone, writeTo } from "./local-streams.js";

/**
 * Asks for a log and writes it to an output as it comes, and as fast as that takes it.
 * @param path with its query
 * @returns bytes; a reader that goes away ends it too
 * @throws LabError as the API client; FAILED for a log that was cut off; the signal's reason
 */
export async function streamLog(
  client: StreamClient,
  path: string,
  out: NodeJS.WritableStream,
  signal: AbortSignal,
): Promise<number> {
  const { config, clock, random, trace, story } = client;
  const auditId = random.uuid();
  story?.follow([auditId]);
  const transport = new HttpTransport(config);
  const identity = identityInWords(config);
  const startMs = clock.now();
  try {
    const headers: AskingHeaders = { "Audit-ID": auditId, "User-Agent": "kubelab" };
    await addIdentity(headers, config);
    const response = await transport.send({ method: "GET", path, headers, body: undefined }, signal);
    const status = response.statusCode ?? 0;
    const isGood = status >= 200 && status < 300;
    const answer = { status, headers: response.headers, body: isGood ? "" : await readBody(response) };
    const outcome = isGood ? "as it comes" : statusMessage(answer);
    const durationMs = clock.now() - startMs;
    const server = config.server;
    trace.emit(
      { kind: "request", method: "GET", path, server, identity, status, outcome, durationMs, auditId },
      { actor: "user", level: 1 },
    );
    if (!isGood) {
      throw (
        backendProblem(path.split("?")[0] ?? path, `${status} ${outcome}`) ?? refusal(answer, `GET ${path}`, identity)
      );
    }
    return await copy(response, out, signal);
  } catch (error) {
    signal.throwIfAborted();
    throw explainTransportError(error, {
      server: config.server,
      what: `GET ${path}`,
      nowMs: clock.now(),
      timeoutMs: 0,
      viaProxy: config.proxyAgent !== undefined,
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
    if (cause instanceof OutputGone) return bytes;
    signal.throwIfAborted();
    const hint = "The API server or the kubelet has ended the connection: ask again with --since.";
    throw new LabError("FAILED", `the log was cut off after ${bytes} bytes`, hint, { cause });
  }
}
