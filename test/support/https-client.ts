import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Agent, request as httpsRequest, type RequestOptions } from "node:https";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import type { Access } from "./spawned-server.js";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** parsed, where it is JSON */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
  readonly body: any;
}

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** text and bytes go out as they are, anything else as JSON */
  readonly body?: unknown;
}

/** Talks to an API server as its administrator, in requests or in bytes. */
export class HttpsClient {
  readonly #agent: Agent;
  readonly #tls: RequestOptions & { readonly host: string; readonly port: number };

  /** @param connections at most so many at once */
  constructor(
    readonly access: Access,
    connections = 1,
  ) {
    const { hostname: host, port } = new URL(access.url);
    const { ca, cert, key } = access;
    this.#tls = { host, port: Number(port), ca, cert, key };
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** The beginning of an answer: its body is still to be read. The path goes out as it is. */
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

  /** A connection of its own that speaks nothing but what it is told to. */
  async connect(): Promise<TLSSocket> {
    const socket = connect(this.#tls as ConnectionOptions);
    await once(socket, "secureConnect");
    return socket;
  }

  /** What a server says to these bytes until it ends the connection. */
  async raw(bytes: string | Buffer): Promise<string> {
    const socket = await this.connect();
    let seen = "";
    socket.on("data", (data) => {
      seen += data.toString("latin1");
    });
    // A server that is not interested in the rest may well reset the connection.
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
