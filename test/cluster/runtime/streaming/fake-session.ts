import type { Status } from "../../../../src/staging/apimachinery/api/meta.js";
import { ByteQueue } from "../../../../src/staging/streaming/byte-queue.js";
import { type ByteWriter, StreamError } from "../../../../src/staging/streaming/bytes.js";
import type {
  RemoteCommandOptions,
  RemoteCommandServerSession,
  TerminalSize,
} from "../../../../src/staging/streaming/remote-command/session.js";
import { AsyncQueue } from "../../../../src/util/async/async-queue.js";

/** A client's output stream that accepts only as much as the test allows. */
export class FakeWriter implements ByteWriter {
  readonly #pieces: Uint8Array[] = [];
  #length = 0;
  #room = Number.POSITIVE_INFINITY;
  #waiting: (() => void)[] = [];
  #error: StreamError | undefined;
  isEnded = false;
  /** the number of writes that wait for room */
  waitingWrites = 0;

  get text(): string {
    return Buffer.concat(this.#pieces).toString();
  }

  get length(): number {
    return this.#length;
  }

  /** Accepts this many more bytes before writers wait. */
  limit(bytes: number): void {
    this.#room = bytes;
    this.#wake();
  }

  breakOff(error: StreamError): void {
    this.#error = error;
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.waitingWrites++;
    while (this.#room <= 0 && this.#error === undefined) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.waitingWrites--;
    if (this.#error !== undefined) throw this.#error;
    this.#room -= bytes.length;
    this.#length += bytes.length;
    if (this.#length < 1 << 20) this.#pieces.push(Buffer.from(bytes));
    this.#wake();
  }

  async end(): Promise<void> {
    this.isEnded = true;
  }
}

/** A client of a remote command, inside the test. */
export class FakeSession implements RemoteCommandServerSession {
  readonly protocol = { framing: "WebSocket", subprotocol: "fake" } as const;
  readonly options: RemoteCommandOptions;
  readonly stdin: ByteQueue | undefined;
  readonly stdout: FakeWriter | undefined;
  readonly stderr: FakeWriter | undefined;
  readonly sizes = new AsyncQueue<TerminalSize>();
  readonly #gone = new AbortController();
  /** the result of the command; undefined if the connection was broken off */
  status: Status | undefined;
  isClosed = false;

  constructor(options: Partial<RemoteCommandOptions> = {}) {
    this.options = { stdin: false, stdout: true, stderr: options.tty !== true, tty: false, ...options };
    this.stdin = this.options.stdin ? new ByteQueue(() => {}) : undefined;
    this.stdout = this.options.stdout ? new FakeWriter() : undefined;
    this.stderr = this.options.stderr ? new FakeWriter() : undefined;
  }

  get resizes(): AsyncIterable<TerminalSize> {
    return this.sizes;
  }

  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  type(text: string): void {
    this.stdin?.push(Buffer.from(text));
  }

  /** The client's connection breaks. */
  leave(): void {
    const error = new StreamError("the client is gone");
    this.#gone.abort(error);
    this.stdin?.fail(error);
    this.stdout?.breakOff(error);
    this.stderr?.breakOff(error);
    this.sizes.fail(error);
  }

  async finish(status: Status): Promise<void> {
    this.status = status;
    await this.close();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.stdin?.end();
    this.sizes.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
