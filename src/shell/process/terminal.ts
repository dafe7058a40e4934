import type { TerminalSize } from "../../streaming/remote-command/session.js";
import { caret, LineBuffer } from "./line-buffer.js";
import { SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGWINCH } from "./signals.js";
import { BrokenPipeError, type ByteSink, type ByteSource } from "./streams.js";
import { Waiters } from "./waiters.js";

/** What a terminal does with what passes through it. Mirrors termios: ICANON, ECHO, ISIG, ICRNL, ONLCR. */
export interface TerminalModes {
  /** input is handed on line by line, and can be corrected before */
  readonly isCanonical: boolean;
  readonly echoes: boolean;
  /** ^C, ^\ and ^Z are signals */
  readonly hasSignals: boolean;
  /** a carriage return that is typed is a newline */
  readonly mapsInput: boolean;
  /** a newline that is written goes to the line's beginning, too */
  readonly mapsOutput: boolean;
}

export const COOKED: TerminalModes = {
  isCanonical: true,
  echoes: true,
  hasSignals: true,
  mapsInput: true,
  mapsOutput: true,
};

/** Where what a terminal shows goes. */
export interface TerminalOutput extends ByteSink {
  /** whoever writes now must wait */
  readonly isFull?: boolean;
  /** drops what has not been seen yet: ^C does */
  discard?(): void;
}

/** The processes of a terminal: how it reaches them. */
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

/** Who types waits once so much is unread. */
const MAX_UNREAD_BYTES = 65_536;

/**
 * A pseudo terminal: who is connected types into `input` and sees what goes to `output`; processes hold `source` and
 * `sink`. Mirrors Linux's line discipline (drivers/tty/n_tty.c) as far as a shell needs it.
 *
 * Differs: no flow control by ^S and ^Q, no ^V and ^R, a stopped job does not exist.
 */
export class Terminal {
  readonly source: ByteSource;
  readonly sink: ByteSink;
  /** 0 by 0 until who is connected says how large it is, as with containerd */
  size: TerminalSize = { width: 0, height: 0 };
  /** the process group that the keys' signals are for */
  foreground = 0;
  #modes = COOKED;
  readonly #line = new LineBuffer();
  /** lines, or bytes in raw mode; an empty one is the end of input, once */
  #unread: Buffer[] = [];
  #unreadBytes = 0;
  readonly #waiters = new Waiters();
  #isHungUp = false;

  /** @param output where what is to be seen goes; the terminal lets go of it when it hangs up */
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

  /** What was typed ahead goes by the new modes. */
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

  /** Tells the foreground. Sizes below one character are not taken, as in containerd (handleResizing). */
  resize(size: TerminalSize): void {
    if (size.width < 1 || size.height < 1) return;
    const isSame = size.width === this.size.width && size.height === this.size.height;
    this.size = size;
    if (!isSame) this.processes.signalGroup(this.foreground, SIGWINCH);
  }

  /** Takes what was typed. Resolves when there is room for more. */
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

  /** What was typed and not read, and what was written and not seen, is gone, and the foreground gets the signal. */
  #interrupt(keySignal: number): void {
    this.#line.take();
    this.#unread = [];
    this.#unreadBytes = 0;
    this.output.discard?.();
    this.#waiters.wake();
    this.processes.signalGroup(this.foreground, keySignal);
  }

  /** An echo does not wait, and is dropped where there is no room: who types without looking must not fill our memory. */
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

  /** The session's first process has ended: the others see the end of input, and cannot write any more. */
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

/** `\n` as `\r\n` */
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
