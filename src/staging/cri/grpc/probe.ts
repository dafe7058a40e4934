import { createConnection, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import type { Clock } from "../../../util/clock.js";
import type { Endpoint } from "./endpoint.js";

/** How an endpoint answers the first bytes of a gRPC connection. */
export type Probe =
  | { readonly finds: "no-connection"; readonly error: NodeJS.ErrnoException }
  | { readonly finds: "http2" | "http1" | "tls" | "hang-up" | "silence" }
  | { readonly finds: "other"; readonly greeting: string };

/** An HTTP/2 server answers immediately. */
const ANSWER_TIMEOUT_MS = 2_000;

/** The start of an HTTP/2 connection: the preface and an empty SETTINGS frame. */
const HTTP2_HELLO = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);
const SETTINGS_FRAME = 4;
const TLS_ALERT = 0x15;
const TLS_HANDSHAKE = 0x16;

/** Tries HTTP/2 and, if there is no answer, TLS. Called only after a failed call, to explain it. */
export async function probeEndpoint(endpoint: Endpoint, clock: Clock, signal: AbortSignal): Promise<Probe> {
  const answer = await exchange(endpoint, clock, signal, (socket) => socket.write(HTTP2_HELLO));
  if (answer instanceof Error) return { finds: "no-connection", error: answer };
  const probe = recognise(answer);
  if (probe.finds !== "hang-up" && probe.finds !== "silence") return probe;
  // Some TLS servers close a connection without TLS silently: try TLS.
  const inTls = await exchange(endpoint, clock, signal, sayHelloInTls);
  const isTls = Buffer.isBuffer(inTls) && (inTls[0] === TLS_HANDSHAKE || inTls[0] === TLS_ALERT);
  return isTls ? { finds: "tls" } : probe;
}

function recognise(answer: Buffer | "hang-up" | "silence"): Probe {
  if (answer === "hang-up" || answer === "silence") return { finds: answer };
  if (answer[3] === SETTINGS_FRAME && answer.readUIntBE(0, 3) % 6 === 0) return { finds: "http2" };
  if (answer[0] === TLS_ALERT && answer[1] === 3) return { finds: "tls" };
  const text = answer.toString("latin1");
  if (/^HTTP\/1|^HTTP\/0/.test(text))
    return /HTTPS server|HTTPS port/.test(text) ? { finds: "tls" } : { finds: "http1" };
  return { finds: "other", greeting: text.slice(0, 40).trim() };
}

/** The first bytes of the answer, or the reason why it failed. */
function exchange(
  endpoint: Endpoint,
  clock: Clock,
  signal: AbortSignal,
  speak: (socket: Socket) => void,
): Promise<Buffer | NodeJS.ErrnoException | "hang-up" | "silence"> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const timer = new AbortController();
    const socket =
      endpoint.kind === "unix" ? createConnection(endpoint.path) : createConnection(endpoint.port, endpoint.host);
    let isConnected = false;
    const answer = (what: Buffer | NodeJS.ErrnoException | "hang-up" | "silence") => {
      timer.abort();
      socket.destroy();
      resolve(what);
    };
    socket.once("connect", () => {
      isConnected = true;
      socket.once("data", answer);
      speak(socket);
    });
    socket.once("error", (error) => answer(isConnected ? "hang-up" : error));
    socket.once("close", () => answer("hang-up"));
    clock.sleep(ANSWER_TIMEOUT_MS, AbortSignal.any([timer.signal, signal])).then(
      () => answer("silence"),
      () => {
        if (!signal.aborted) return; // answered
        answer("silence");
        reject(signal.reason);
      },
    );
  });
}

/** Sends a TLS ClientHello. The answer is read as raw bytes, because node:tls would hide them in an error. */
function sayHelloInTls(socket: Socket): void {
  const carrier = new Duplex({ read() {}, write: (chunk, _encoding, done) => socket.write(chunk, () => done()) });
  const tls = connectTls({ socket: carrier, rejectUnauthorized: false, servername: "localhost" });
  tls.on("error", () => {}); // the handshake is never completed
  socket.once("close", () => tls.destroy());
}
