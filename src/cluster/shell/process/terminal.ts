import type { TerminalSize } from "../../../staging/streaming/remote-command/session.js";
import { BrokenPipeError, type ByteSink, type ByteSource } from "../streams.js";
import { caret, LineBuffer } from "./line-buffer.js";
import { SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGWINCH } from "./signals.js";
import { Waiters } from "./waiters.js";

/** A terminal's modes. Mirrors termios: ICANON, ECHO, ISIG, ICRNL, ONLCR. */
export interface TerminalModes {
  /** input arrives line by line, and can be edited before */
  readonly isCanonical: boolean;
  readonly echoes: boolean;
  /** ^C, ^\ and ^Z send signals */
  readonly hasSignals: boolean;
  /** a typed carriage return becomes a newline */
  readonly mapsInput: boolean;
  /** a written newline also returns to the first column */
  readonly mapsOutput: boolean;
}

export const COOKED: TerminalModes = {
  isCanonical: true,
  echoes: true,
  hasSignals: true,
  mapsInput: true,
  mapsOutput: true,
};

/** The display of a terminal. */
export interface TerminalOutput extends ByteSink {
  /** writers must wait */
  readonly isFull?: boolean;
  /** drops unread output, as ^C does */
  discard?(): void;
}

/** How a terminal reaches its processes. */
export interface TerminalProcesses {
  signalGroup(group: number, signal: number): void;
}

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SIGNAL_KEYS: ReadonlyMap<number, number> = new Map([
  [0x03, SIGINT],
  [0x1c, SIGQUIT],
  [0x1a, SIGTSTP],
]);

/** The typing side waits above this many unread bytes. */
const MAX_UNREAD_BYTES = 65_536;

/** The terminal behind a stream of a process, if there is one. */
export function terminalOf(stream: ByteSource | ByteSink): Terminal | undefined {
  return "terminal" in stream && stream.terminal instanceof Terminal ? stream.terminal : undefined;
}

/**
 * A pseudo terminal: the client types into `input` and sees `output`; processes hold `source` and `sink`. Mirrors
 * Linux's line discipline (drivers/tty/n_tty.c) as far as a shell needs it.
 *
 * Differs: no flow control by ^S and ^Q, no ^V and ^R, no stopped jobs.
 */
export class Terminal {
  readonly source: ByteSource;
  readonly sink: ByteSink;
  /** 0 by 0 until the client reports its size, as with containerd */
  size: TerminalSize = { width: 0, height: 0 };
  /** the foreground process group, which gets the keys' signals */
  foreground = 0;
  #modes = COOKED;
  readonly #line = new LineBuffer();
  /** lines, or bytes in raw mode; an empty item is one end of input */
  #unread: Buffer[] = [];
  #unreadBytes = 0;
  readonly #waiters = new Waiters();
  #isHungUp = false;

  /** @param output the display; released when the terminal hangs up */
  constructor(
    readonly output: TerminalOutput,
    readonly processes: TerminalProcesses,
  ) {
    const ends = { isTerminal: true, terminal: this, retain: () => {}, release: () => {} };
    this.source = {
      ...ends,
      read: (signal, max) => this.#read(signal, max),
      unread: (bytes) => {
        this.#unread.unshift(bytes);
        this.#unreadBytes += bytes.length;
      },
    };
    this.sink = { ...ends, write: (bytes, signal) => this.#write(bytes, signal) };
  }

  get modes(): TerminalModes {
    return this.#modes;
  }

  /** The new modes also apply to input that was typed ahead. */
  set modes(modes: TerminalModes) {
    const before = this.#modes;
    this.#modes = modes;
    if (before.isCanonical && !modes.isCanonical && !this.#line.isEmpty) this.#push(this.#line.take());
    if (before.isCanonical || !modes.isCanonical) return;
    const ahead = Buffer.concat(this.#unread);
    this.#unread = [];
    this.#unreadBytes = 0;
    for (const byte of ahead) {
      const { line } = this.#line.type(byte);
      if (line !== undefined) this.#push(line);
    }
  }

  /** Resizes and notifies the foreground. Ignores sizes below one character, as containerd does (handleResizing). */
  resize(size: TerminalSize): void {
    if (size.width < 1 || size.height < 1) return;
    const isSame = size.width === this.size.width && size.height === this.size.height;
    this.size = size;
    if (!isSame) this.processes.signalGroup(this.foreground, SIGWINCH);
  }

  /** Types input. Resolves when there is room for more. */
  async input(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    this.#take(bytes, signal);
    while (this.#unreadBytes >= MAX_UNREAD_BYTES && !this.#isHungUp) await this.#waiters.change(signal);
  }

  #take(bytes: Uint8Array, signal: AbortSignal): void {
    const { isCanonical, echoes, hasSignals, mapsInput } = this.#modes;
    if (!isCanonical && !echoes && !hasSignals) {
      this.#push(mapsInput ? withNewlines(bytes) : Buffer.from(bytes));
      return;
    }
    const raw: number[] = [];
    const echo: Uint8Array[] = [];
    for (const typed of bytes) {
      const byte = mapsInput && typed === RETURN ? NEWLINE : typed;
      const keySignal = hasSignals ? SIGNAL_KEYS.get(byte) : undefined;
      if (keySignal !== undefined) {
        this.#interrupt(keySignal);
        raw.length = 0;
        echo.length = 0;
        if (echoes) echo.push(Buffer.from(`^${caret(byte)}`));
        continue;
      }
      if (!isCanonical) {
        raw.push(byte);
        if (echoes) echo.push(Uint8Array.of(byte));
        continue;
      }
      const { echo: shown, line } = this.#line.type(byte);
      if (echoes && shown.length > 0) echo.push(typeof shown === "string" ? Buffer.from(shown) : shown);
      if (line !== undefined) this.#push(line);
    }
    if (raw.length > 0) this.#push(Buffer.from(raw));
    this.#show(Buffer.concat(echo), signal);
  }

  /** Drops unread input and output, and sends the signal to the foreground. */
  #interrupt(keySignal: number): void {
    this.#line.take();
    this.#unread = [];
    this.#unreadBytes = 0;
    this.output.discard?.();
    this.#waiters.wake();
    this.processes.signalGroup(this.foreground, keySignal);
  }

  /** An echo does not wait and is dropped without room, so that typing cannot fill the memory. */
  #show(bytes: Buffer, signal: AbortSignal): void {
    if (bytes.length === 0 || this.#isHungUp || this.output.isFull === true) return;
    Promise.resolve(this.#write(bytes, signal)).catch(() => {});
  }

  #write(bytes: Uint8Array, signal: AbortSignal): Promise<void> | void {
    if (this.#isHungUp) throw new BrokenPipeError();
    return this.output.write(this.#modes.mapsOutput ? withReturns(bytes) : bytes, signal);
  }

  async #read(signal: AbortSignal, max = Number.POSITIVE_INFINITY): Promise<Buffer | undefined> {
    for (;;) {
      if (signal.aborted) throw signal.reason;
      const first = this.#unread.shift();
      if (first !== undefined) {
        const taken = first.length > max ? first.subarray(0, max) : first;
        if (taken.length < first.length) this.#unread.unshift(first.subarray(taken.length));
        this.#unreadBytes -= taken.length;
        this.#waiters.wake();
        return taken.length === 0 ? undefined : taken;
      }
      if (this.#isHungUp) return undefined;
      await this.#waiters.change(signal);
    }
  }

  #push(bytes: Buffer): void {
    this.#unread.push(bytes);
    this.#unreadBytes += bytes.length;
    this.#waiters.wake();
  }

  /** The session's first process has ended: the others see the end of input, and can no longer write. */
  hangUp(): void {
    if (this.#isHungUp) return;
    this.#isHungUp = true;
    this.processes.signalGroup(this.foreground, SIGHUP);
    this.output.release();
    this.#waiters.wake();
  }
}

function withNewlines(bytes: Uint8Array): Buffer {
  const copy = Buffer.from(bytes);
  for (let at = copy.indexOf(RETURN); at >= 0; at = copy.indexOf(RETURN, at + 1)) copy[at] = NEWLINE;
  return copy;
}

/** Replaces `\n` by `\r\n`. */
function withReturns(bytes: Uint8Array): Uint8Array {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  if (count === 0) return bytes;
  const out = Buffer.allocUnsafe(bytes.length + count);
  let to = 0;
  for (let from = 0; from < bytes.length; from++) {
    const byte = bytes[from] as number;
    if (byte === NEWLINE) out[to++] = RETURN;
    out[to++] = byte;
  }
  return out;
}
