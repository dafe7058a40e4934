import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { StreamError } from "../bytes.js";

/** Mirrors k8s.io/apimachinery/pkg/util/httpstream/spdy/upgrade.go (HeaderSpdy31). */
export const SPDY_31 = "SPDY/3.1";
/** Mirrors k8s.io/apimachinery/pkg/util/httpstream/httpstream.go (HeaderProtocolVersion). */
export const PROTOCOL_VERSION_HEADER = "X-Stream-Protocol-Version";
const ACCEPTED_VERSIONS_HEADER = "X-Accepted-Stream-Protocol-Versions";

/**
 * Answers a request for SPDY with 101, or refuses it in upstream's words.
 *
 * Mirrors k8s.io/apimachinery/pkg/util/httpstream/httpstream.go (Handshake) and spdy/upgrade.go (UpgradeResponse).
 *
 * @param supported the first of the client's protocols in this list is chosen
 * @returns the chosen protocol
 * @throws StreamError if it was refused; the client has its answer then, and the socket is closed
 */
export function acceptSpdy(request: IncomingMessage, socket: Duplex, supported: readonly string[]): string {
  const offered = offeredProtocols(request);
  if (offered.length === 0) {
    throw refuse(socket, 400, `unable to upgrade: ${PROTOCOL_VERSION_HEADER} is required`);
  }
  const chosen = offered.find((protocol) => supported.includes(protocol));
  if (chosen === undefined) {
    const lists = `client supports [${offered.join(" ")}], server accepts [${supported.join(" ")}]`;
    const accepted = supported.map((protocol) => `${ACCEPTED_VERSIONS_HEADER}: ${protocol}`);
    throw refuse(socket, 403, `unable to upgrade: unable to negotiate protocol: ${lists}`, accepted);
  }
  if (!isSpdyRequest(request)) throw refuse(socket, 400, missingUpgradeHeaders(request));
  (socket as Partial<Socket>).setNoDelay?.(true);
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${SPDY_31}\r\n${PROTOCOL_VERSION_HEADER}: ${chosen}\r\n\r\n`,
  );
  return chosen;
}

/** Whether a request asks for SPDY: as upstream, headers that contain the words are enough. */
function isSpdyRequest({ headers }: IncomingMessage): boolean {
  return (
    (headers.connection ?? "").toLowerCase().includes("upgrade") &&
    (headers.upgrade ?? "").toLowerCase().includes(SPDY_31.toLowerCase())
  );
}

/** The 400 answer to other requests, with the headers in Go's format for maps. */
function missingUpgradeHeaders(request: IncomingMessage): string {
  const values = new Map<string, string[]>();
  for (let at = 0; at + 1 < request.rawHeaders.length; at += 2) {
    const name = canonicalName(request.rawHeaders[at] ?? "");
    // Go removes Host from the headers.
    if (name !== "Host") values.set(name, [...(values.get(name) ?? []), request.rawHeaders[at + 1] ?? ""]);
  }
  const printed = [...values]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, list]) => `${JSON.stringify(name)}:[]string{${list.map((one) => JSON.stringify(one)).join(", ")}}`);
  return `unable to upgrade: missing upgrade headers in request: http.Header{${printed.join(", ")}}`;
}

function canonicalName(name: string): string {
  return name.toLowerCase().replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}

/** One header with commas, or several headers: clients use both. */
function offeredProtocols(request: IncomingMessage): string[] {
  const header = request.headers[PROTOCOL_VERSION_HEADER.toLowerCase()];
  const lists = header === undefined ? [] : Array.isArray(header) ? header : [header];
  return lists
    .flatMap((list) => list.split(",").map((protocol) => protocol.trim()))
    .filter((protocol) => protocol !== "");
}

/** Answers like Go's http.Error. */
function refuse(socket: Duplex, code: number, text: string, headers: readonly string[] = []): StreamError {
  const body = `${text}\n`;
  const lines = [
    `HTTP/1.1 ${code} ${STATUS_CODES[code]}`,
    ...headers,
    "Content-Type: text/plain; charset=utf-8",
    "X-Content-Type-Options: nosniff",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  // Errors of a closing socket do not matter.
  socket.on("error", () => socket.destroy());
  socket.resume();
  socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`);
  return new StreamError(text);
}
