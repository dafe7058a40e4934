import type { Socket } from "node:net";
import { ClientStream, type StreamSink } from "./client-stream.js";
import { PREFACE, Setting } from "./frames.js";
import { HeaderEncoder, type RequestHead } from "./header-encoder.js";
import type { Fields } from "./hpack.js";
import { Http2Session } from "./http2-session.js";

const MAX_STREAM_ID = 2 ** 31 - 1;

/** The client's side of one HTTP/2 connection: requests with a small body each, answers of any size. */
export class ClientSession extends Http2Session<ClientStream> {
  readonly #waiting: ClientStream[] = [];
  readonly #encoder = new HeaderEncoder();
  readonly #onOver = (stream: ClientStream) => this.#over(stream);
  #nextId = 1;
  #isOpen = true;

  /**
   * @param socket connected, or about to be; its bytes are handed in through `received`
   * @param onReady the other side has sent its settings: it speaks HTTP/2
   * @param onLost the connection is over, and why
   */
  constructor(
    socket: Socket,
    readonly onReady: () => void,
    readonly onLost: (why: string) => void,
  ) {
    super(socket);
    this.greet(PREFACE, [[Setting.ENABLE_PUSH, 0]]);
  }

  /** Whether it takes calls. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /**
   * Sends one request, now or when the other side takes one more. The answer comes to the sink.
   * @param head the same object for all requests of a kind
   */
  request(head: RequestHead, body: Buffer, sink: StreamSink): ClientStream {
    const stream = new ClientStream(this.room, this.writer, head, body, sink, this.#onOver);
    if (this.streams.size < this.maxStreams) this.#send(stream);
    else this.#waiting.push(stream);
    return stream;
  }

  #send(stream: ClientStream): void {
    if (stream.isOver) return;
    if (!this.#isOpen) {
      stream.closed({ by: "connection", why: "the connection was closed" });
      return;
    }
    const id = this.#nextId;
    this.#nextId += 2;
    if (this.#nextId > MAX_STREAM_ID) this.#isOpen = false;
    this.streams.set(id, stream);
    stream.send(id, this.#encoder.block(stream.head));
  }

  #sendWaiting(): void {
    while (this.#waiting.length > 0 && (this.streams.size < this.maxStreams || !this.#isOpen)) {
      const next = this.#waiting.shift();
      if (next !== undefined) this.#send(next);
    }
  }

  /** Of one that was never sent there is nothing to forget. */
  #over(stream: ClientStream): void {
    if (!this.streams.delete(stream.id)) return;
    this.#sendWaiting();
    this.#closeWhenDone();
  }

  #closeWhenDone(): void {
    if (!this.#isOpen && this.streams.size === 0 && this.#waiting.length === 0) this.writer.end();
  }

  protected settled(isFirst: boolean): void {
    this.#encoder.limit(this.headerTableBytes);
    if (isFirst) this.onReady();
    this.#sendWaiting();
  }

  protected headers(id: number, fields: Fields): void {
    this.streams.get(id)?.sink.headers(fields);
  }

  protected ended(id: number): void {
    this.streams.get(id)?.closed({ by: "end" });
  }

  protected reset(id: number, code: number): void {
    this.streams.get(id)?.closed({ by: "reset", code });
  }

  /** No new calls; those that it has not seen are lost, the others go on. */
  protected goesAway(lastId: number): void {
    this.#isOpen = false;
    for (const stream of [...this.streams.values()]) {
      if (stream.id > lastId) stream.closed({ by: "connection", why: "the other side goes away" });
    }
    this.#sendWaiting();
    this.#closeWhenDone();
  }

  protected lost(why: string): void {
    this.#isOpen = false;
    for (const stream of [...this.streams.values()]) stream.closed({ by: "connection", why });
    this.#sendWaiting();
    this.onLost(why);
  }
}
