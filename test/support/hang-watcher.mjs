import { writeSync } from "node:fs";
import { Session } from "node:inspector";
import { parentPort, workerData } from "node:worker_threads";

// The thread of watch-for-hangs.ts: it sees the tests' thread from outside, as a debugger does.
const { beats, file, blockedMs, fileMs } = workerData;
const CHECK_MS = 1_000;
const SAMPLES = 5;
const SAMPLE_MS = 300;

const startMs = Date.now();
let test = "";
let beat = -1;
let beatMs = startMs;
parentPort.on("message", (name) => {
  test = name;
});
const checking = setInterval(check, CHECK_MS);

function check() {
  const nowMs = Date.now();
  const next = Atomics.load(beats, 0);
  if (next !== beat) [beat, beatMs] = [next, nowMs];
  if (nowMs - beatMs > blockedMs) end(`its event loop is blocked for ${blockedMs / 1_000} s`);
  else if (nowMs - startMs > fileMs) end(`it has not ended after ${fileMs / 1_000} s`);
}

/** Prints a few times where the tests' thread is, then what it waits for, and ends the process. */
function end(why) {
  clearInterval(checking);
  say(`HANG ${file}${test === "" ? ", before its tests" : ` > ${test}`}: ${why}`);
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
