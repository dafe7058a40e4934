import { connect, type TLSSocket } from "node:tls";
import type { RestConfig } from "../../src/staging/client-go/rest/client.js";

const CRLF = "\r\n";
const END_OF_HEAD = "\r\n\r\n";
const LAST_CHUNK = Buffer.from("0\r\n\r\n");

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  /** default: JSON */
  readonly contentType?: string;
}

export interface Received {
  readonly status: number;
  /** the body's first bytes as they came, framing included: where an answer is short, all of it */
  readonly start: string;
}

/** So much of an answer is kept: names and versions stand at the beginning. */
const KEPT_BYTES = 2048;

/**
 * One keep-alive HTTP/1.1 connection that does as little as possible per answer, so that the server is what is measured:
 * it finds the status, the beginning and the end of an answer.
 */
export class Connection {
  #head: Buffer = Buffer.alloc(0);
  #inBody = false;
  #isChunked = false;
  #leftBytes = 0;
  /** the newest bytes of a chunked body, to find its end across two reads */
  #tail: Buffer = Buffer.alloc(0);
  #status = 0;
  #start = "";
  #settle: { resolve(received: Received): void; reject(error: Error): void } | undefined;

  private constructor(
    readonly socket: TLSSocket,
    readonly commonHead: string,
  ) {
    socket.on("data", (data) => this.#take(data));
    socket.on("error", (error) => this.#settle?.reject(error));
    socket.on("close", () => this.#settle?.reject(new Error("the server closed the connection")));
  }

  static async open(config: RestConfig): Promise<Connection> {
    const url = new URL(config.server);
    const { caPem, clientCertificatePem, clientKeyPem, token, tlsServerName, insecureSkipTlsVerify } = config;
    const socket = await new Promise<TLSSocket>((resolve, reject) => {
      const opening = connect(
        {
          host: url.hostname,
          port: Number(url.port === "" ? 443 : url.port),
          ...(caPem === undefined ? {} : { ca: caPem }),
          ...(clientCertificatePem === undefined ? {} : { cert: clientCertificatePem, key: clientKeyPem }),
          ...(tlsServerName === undefined ? {} : { servername: tlsServerName }),
          rejectUnauthorized: insecureSkipTlsVerify !== true,
        },
        () => resolve(opening),
      );
      opening.once("error", reject);
    });
    socket.setNoDelay(true);
    const authorization = token === undefined ? "" : `Authorization: Bearer ${token}${CRLF}`;
    return new Connection(
      socket,
      `Host: ${url.host}${CRLF}User-Agent: kubelab-bench${CRLF}Accept: application/json${CRLF}${authorization}`,
    );
  }

  get isClosed(): boolean {
    return this.socket.destroyed;
  }

  /** Sends one request; resolves when its answer is complete. One at a time. */
  request({ method, path, body, contentType = "application/json" }: Sent): Promise<Received> {
    const head = `${method} ${path} HTTP/1.1${CRLF}${this.commonHead}`;
    const framing =
      body === undefined ? "" : `Content-Type: ${contentType}${CRLF}Content-Length: ${Buffer.byteLength(body)}${CRLF}`;
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.socket.write(`${head}${framing}${CRLF}${body ?? ""}`);
    });
  }

  close(): void {
    this.socket.destroy();
  }

  #take(data: Buffer): void {
    if (!this.#inBody) {
      this.#head = this.#head.length === 0 ? data : Buffer.concat([this.#head, data]);
      const end = this.#head.indexOf(END_OF_HEAD);
      if (end < 0) return;
      this.#begin(this.#head.toString("latin1", 0, end).toLowerCase());
      data = this.#head.subarray(end + END_OF_HEAD.length);
      this.#head = Buffer.alloc(0);
    }
    if (this.#start.length < KEPT_BYTES) this.#start += data.toString("latin1", 0, KEPT_BYTES);
    if (!this.#isChunked) {
      this.#leftBytes -= data.length;
      if (this.#leftBytes <= 0) this.#done();
      return;
    }
    const tail = data.length >= LAST_CHUNK.length ? data : Buffer.concat([this.#tail, data]);
    this.#tail = tail.subarray(-LAST_CHUNK.length);
    if (this.#tail.equals(LAST_CHUNK)) this.#done();
  }

  #begin(head: string): void {
    this.#inBody = true;
    this.#start = "";
    this.#tail = Buffer.alloc(0);
    this.#status = Number(head.slice(9, 12));
    this.#isChunked = head.includes("transfer-encoding: chunked");
    this.#leftBytes = this.#isChunked ? 0 : Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0);
  }

  #done(): void {
    this.#inBody = false;
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.resolve({ status: this.#status, start: this.#start });
  }
}
