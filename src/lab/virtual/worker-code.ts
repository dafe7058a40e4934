/**
 * The code of a handler's thread. It calls the module's function there, so that a function that never yields, calls
 * process.exit or prints without end harms its own pod only.
 *
 * The log is handed over in pieces; the thread waits while more than a megabyte is unread.
 */
export const WORKER_CODE = `
const { inspect } = require("node:util");
const { parentPort, workerData } = require("node:worker_threads");
const { url, task, onlyCheck, waiting, maxWaiting, maxBufferMb } = workerData;
setInterval(() => {
  if (process.memoryUsage().arrayBuffers > maxBufferMb * 1024 * 1024) throw new RangeError("its buffers have more than " + maxBufferMb + " MB");
}, 100).unref();
const PIECE = 64 * 1024;
const bytesWaiting = new Int32Array(waiting);
const say = (message, weight) => {
  Atomics.add(bytesWaiting, 0, weight);
  parentPort.postMessage(message);
  for (;;) {
    const now = Atomics.load(bytesWaiting, 0);
    if (now <= maxWaiting) break;
    Atomics.wait(bytesWaiting, 0, now, 1000);
  }
};
const send = (stream, bytes) => {
  for (let at = 0; at < bytes.length; at += PIECE) {
    const piece = new Uint8Array(bytes.subarray(at, at + PIECE));
    say({ kind: "log", stream, bytes: piece }, piece.length);
  }
};
for (const name of ["stdout", "stderr"]) {
  process[name].write = (chunk, encoding, done) => {
    send(name, typeof chunk === "string" ? Buffer.from(chunk, typeof encoding === "string" ? encoding : "utf8") : chunk);
    const callback = typeof encoding === "function" ? encoding : done;
    if (callback) queueMicrotask(callback);
    return true;
  };
}
const shown = (value) => (typeof value === "string" ? value : inspect(value));
const log = (...values) => send("stdout", Buffer.from(values.map(shown).join(" ") + "\\n"));
const progress = (value, text) => {
  const known = typeof value === "object" && value !== null ? { fraction: value.fraction, message: value.message } : value;
  say({ kind: "progress", value: known, text: text === undefined ? undefined : String(text) }, 1024);
};
const stop = new AbortController();
parentPort.on("message", (text) => stop.abort(new DOMException(text, "AbortError")));
const end = (message) => {
  try {
    parentPort.postMessage(message);
  } catch (error) {
    parentPort.postMessage({ kind: "unreadable", text: String(error && error.message) });
  }
  parentPort.close();
};
const textOf = (error) => {
  if (!(error instanceof Error)) return String(error);
  return error.name === "Error" ? error.message : error.name + ": " + error.message;
};
(async () => {
  let handle;
  try {
    const module = await import(url);
    handle = module.default ?? module.handle;
  } catch (error) {
    end({ kind: "broken", text: "it cannot be loaded: " + textOf(error), stack: String(error && error.stack) });
    return;
  }
  if (typeof handle !== "function") {
    end({ kind: "broken", text: "it exports no function: neither default nor handle" });
    return;
  }
  if (onlyCheck) {
    end({ kind: "fine" });
    return;
  }
  try {
    end({ kind: "returned", value: await handle({ ...task, signal: stop.signal, log, progress }) });
  } catch (error) {
    if (!stop.signal.aborted && error && error.stack) send("stderr", Buffer.from(String(error.stack) + "\\n"));
    end({ kind: "thrown", text: textOf(error), isAbort: stop.signal.aborted });
  }
})();
`;
