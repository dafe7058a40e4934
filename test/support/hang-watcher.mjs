import { writeSync } from "node:fs";
import { Session } from "node:inspector";
import { parentPort, workerData } from "node:worker_threads";

// The thread of watch-for-hangs.ts: it sees the tests' thread from outside, as a debugger does.
const { beats, hangMs } = workerData;
const CHECK_MS = 1_000;
const SAMPLES = 5;
const SAMPLE_MS = 300;

/** undefined between two files */
let file;
/** The names of tests that run, and how long they may, by id. */
const running = new Map();
let eventMs = Date.now();
let beat = -1;
let beatMs = eventMs;
parentPort.on("message", (event) => {
  eventMs = Date.now();
  if ("file" in event) {
    file = event.file;
    running.clear();
  } else if ("ended" in event) running.delete(event.ended);
  else running.set(event.begun, event);
});
const checking = setInterval(check, CHECK_MS);

function check() {
  const nowMs = Date.now();
  const next = Atomics.load(beats, 0);
  if (next !== beat) [beat, beatMs] = [next, nowMs];
  const quietMs = Math.max(hangMs, ...[...running.values()].map(({ limitMs }) => limitMs));
  if (nowMs - beatMs > hangMs) end(`its event loop is blocked for ${hangMs / 1_000} s`);
  else if (file !== undefined && nowMs - eventMs > quietMs) end(`no test began or ended for ${quietMs / 1_000} s`);
}

/** Prints a few times where the tests' thread is, then what it waits for, and ends the process. */
function end(why) {
  clearInterval(checking);
  const names = [...running.values()].map(({ name }) => name);
  say(
    `HANG ${file ?? "after the last test"}${names.length === 0 ? ", outside of tests" : ` > ${names.join(", ")}`}: ${why}`,
  );
  const session = new Session();
  const urls = new Map();
  session.connectToMainThread();
  session.on("Debugger.scriptParsed", ({ params }) => urls.set(params.scriptId, params.url));
  session.on("Debugger.paused", ({ params }) => {
    say("  is in");
    for (const { functionName, location } of params.callFrames) {
      say(`    ${functionName || "<anonymous>"} (${urls.get(location.scriptId)}:${location.lineNumber + 1})`);
    }
    session.post("Debugger.resume");
  });
  session.post("Debugger.enable");
  for (let i = 0; i < SAMPLES; i++) setTimeout(() => session.post("Debugger.pause"), i * SAMPLE_MS);
  setTimeout(() => {
    const expression = "process.getActiveResourcesInfo().join()";
    session.post("Runtime.evaluate", { expression }, (_, answer) => say(`  active: ${answer?.result.value}`));
  }, SAMPLES * SAMPLE_MS);
  setTimeout(() => process.kill(process.pid, "SIGKILL"), 2 * SAMPLES * SAMPLE_MS);
}

function say(line) {
  writeSync(2, `${line}\n`);
}
