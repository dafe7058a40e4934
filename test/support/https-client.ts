import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Agent, request as httpsRequest, type RequestOptions } from "node:https";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import type { Access } from "./spawned-server.js";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** parsed if it is JSON */
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers of any shape
  readonly body: any;
}

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** text and bytes are sent unchanged, everything else as JSON */
  readonly body?: unknown;
}

/** Sends requests or bytes to an API server as its administrator. */
export class HttpsClient {
  readonly #agent: Agent;
  readonly #tls: RequestOptions & { readonly host: string; readonly port: number };

  /** @param connections maximum number of connections */
  constructor(
    readonly access: Access,
    connections = 1,
  ) {
    const { hostname: host, port } = new URL(access.url);
    const { ca, cert, key } = access;
    this.#tls = { host, port: Number(port), ca, cert, key };
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** The head of an answer; its body is still unread. The path is sent unchanged. */
  open(path: string, { method = "GET", headers = {}, body }: Asked = {}): Promise<IncomingMessage> {
    const bytes = body === undefined ? undefined : bytesOf(body);
    const all: Record<string, string> = { ...headers };
    if (bytes !== undefined) {
      all["content-length"] = String(bytes.length);
      all["content-type"] ??= "application/json";
    }
    return new Promise((resolve, reject) => {
      const options = { ...this.#tls, agent: this.#agent, path, method, headers: all };
      const sent = httpsRequest(options, resolve);
      sent.once("error", reject);
      sent.end(bytes);
    });
  }

  async ask(path: string, asked: Asked = {}): Promise<Answer> {
    const response = await this.open(path, asked);
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    return { status: response.statusCode ?? 0, headers: response.headers, text, body: parsed(text) };
  }

  /** A raw connection. */
  async connect(): Promise<TLSSocket> {
    const socket = connect(this.#tls as ConnectionOptions);
    await once(socket, "secureConnect");
    return socket;
  }

  /** The server's answer to these bytes, until it closes the connection. */
  async raw(bytes: string | Buffer): Promise<string> {
    const socket = await this.connect();
    let seen = "";
    socket.on("data", (data) => {
      seen += data.toString("latin1");
    });
    // A server that ignores the rest may reset the connection.
    socket.on("error", () => {});
    socket.write(bytes);
    await new Promise((resolve) => socket.once("close", resolve));
    return seen;
  }

  close(): void {
    this.#agent.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

function bytesOf(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
