import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { ModuleHandler } from "../../../src/lab/virtual/module-handler.js";
import { SystemClock } from "../../../src/util/clock.js";
import { FakeClock, untilTrue } from "../../support/fake-clock.js";
import { hear, taskOf } from "./tasks.js";

const folder = mkdtempSync(join(tmpdir(), "handlers-"));
let count = 0;

function handlerOf(body: string): ModuleHandler {
  return moduleOf(`export default async function ({ pod, containers, signal, log, progress }) { ${body} }`);
}

function moduleOf(text: string): ModuleHandler {
  const name = `handler-${count++}.mjs`;
  writeFileSync(join(folder, name), text);
  return new ModuleHandler(join(folder, name), `./${name}`);
}

test("the handler gets pod, containers and environment; log, console and progress arrive; its result is the outcome", async () => {
  const handler = handlerOf(`
    log("pod", pod.metadata.name, containers[0].env.A, { size: [1, 2] });
    console.log("out"); console.error("err"); process.stdout.write("raw\\n");
    progress(0.5, "half");
    return "done";`);
  const { log, progress, outcome } = await hear(handler, taskOf("p", { A: "1" }));
  assert.equal(log, "pod p 1 { size: [ 1, 2 ] }\nout\nerr\nraw\n");
  assert.deepEqual(progress, [{ percent: 50, message: "half" }]);
  assert.deepEqual(outcome, { phase: "Succeeded", reason: "Completed", message: "done", exitCode: 0 });
});

const failures: readonly [string, string, RegExp][] = [
  ["throw new TypeError('no input')", "HandlerError", /^TypeError: no input$/],
  ["throw 'a text'", "HandlerError", /^a text$/],
  ["return 42", "HandlerResultInvalid", /returned 42; expected/],
  ["return { message: () => {} }", "HandlerResultInvalid", /cannot be read: .*could not be cloned/],
  ["process.exit(3)", "HandlerError", /ended before the function did \(exit code 3\)/],
  [
    "setImmediate(() => { throw new Error('later') }); await new Promise(() => setTimeout(() => {}, 1e6))",
    "HandlerError",
    /later/,
  ],
];
test("buffers of a handler are limited like its heap", async () => {
  const body = `const all = []; for (;;) { all.push(Buffer.alloc(32e6)); await new Promise((go) => setImmediate(go)); }`;
  const { outcome } = await hear(handlerOf(body), taskOf("p"));
  assert.equal(outcome?.reason, "HandlerError");
  assert.match(outcome?.message ?? "", /its buffers have more than 256 MB/);
});

test("a handler that never pauses is ended when the process needs too much memory", async () => {
  const clock = new FakeClock();
  const { path } = handlerOf("log('begun'); for (;;);");
  const handler = new ModuleHandler(path, "./h.mjs", { clock, maxBytes: 1024 * 1024 });
  const { outcome } = await hear(handler, taskOf("p"), { onEvent: () => void clock.advance(250) });
  assert.deepEqual([outcome?.phase, outcome?.reason], ["Failed", "HandlerError"]);
  assert.match(outcome?.message ?? "", /needs more than 1 MB of memory, and ends its handlers/);
  assert.equal(clock.sleeping, 0);
});

for (const [body, reason, message] of failures) {
  test(`${body}: the pod fails with ${reason}`, async () => {
    const { outcome } = await hear(handlerOf(body), taskOf("p"));
    assert.deepEqual([outcome?.phase, outcome?.reason], ["Failed", reason]);
    assert.match(outcome?.message ?? "", message);
  });
}

test("the stack of a thrown error is in the log", async () => {
  const { log } = await hear(handlerOf("throw new Error('boom')"), taskOf("p"));
  assert.match(log, /^Error: boom\n +at default/);
});

test("an abort reaches the handler, and its result still counts", async () => {
  const abort = new AbortController();
  const handler = handlerOf(`
    log("ready");
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return "tidied up: " + signal.reason.message;`);
  const { outcome } = await hear(handler, taskOf("p"), {
    abort,
    onEvent: () => abort.abort(new DOMException("the pod is deleted", "AbortError")),
  });
  assert.equal(outcome?.message, "tidied up: the pod is deleted");
});

test("a handler that throws because of an abort is cancelled, and prints no stack", async () => {
  const abort = new AbortController();
  const handler = handlerOf(`
    log("ready");
    await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));`);
  const { outcome, log } = await hear(handler, taskOf("p"), { abort, onEvent: () => abort.abort() });
  assert.deepEqual([outcome?.reason, outcome?.exitCode, log], ["Cancelled", 143, "ready\n"]);
});

for (const [how, body] of [
  ["yields", "for (;;);"],
  ["returns", "await new Promise(() => {});"],
] as const) {
  test(`a handler that never ${how} is abandoned`, async () => {
    const kill = new AbortController();
    const { outcome } = await hear(handlerOf(`log('ready'); ${body}`), taskOf("p"), {
      kill,
      onEvent: () => kill.abort(),
    });
    assert.deepEqual([outcome?.reason, outcome?.exitCode], ["Abandoned", 137]);
  });
}

test("100 MB of output arrive", async () => {
  const handler = handlerOf("const line = 'x'.repeat(9999); for (let i = 0; i < 10_000; i++) log(line);");
  const { logBytes, outcome } = await hear(handler, taskOf("p"));
  assert.equal(logBytes, 100_000_000);
  assert.equal(outcome?.phase, "Succeeded");
});

const broken: readonly [string, () => ModuleHandler, RegExp][] = [
  ["a missing file", () => new ModuleHandler(join(folder, "none.mjs"), "./none.mjs"), /no such file/],
  ["a folder", () => new ModuleHandler(folder, "./handlers"), /it is not a file/],
  ["a module without a function", () => moduleOf("export const handler = 5;"), /exports no function/],
  ["a default export that is not a function", () => moduleOf("export default 5;"), /exports no function/],
  ["a module with a syntax error", () => moduleOf("export default function ( {"), /cannot be loaded: SyntaxError/],
  ["a module that throws", () => moduleOf("throw new Error('at once')"), /cannot be loaded: at once/],
  ["a module that ends its thread", () => moduleOf("process.exit(2)"), /exit code 2/],
];
for (const [what, make, message] of broken) {
  test(`${what} is one clear error before anything starts`, async () => {
    const check = make().check(new SystemClock(), new AbortController().signal);
    await assert.rejects(check, (error: Error & { code?: string; hint?: string }) => {
      assert.equal(error.code, "BAD_FILE");
      assert.match(error.message, message);
      assert.match(error.hint ?? "", /export default async function/);
      return true;
    });
  });
}

test("a module that never loads is refused", async () => {
  const clock = new FakeClock();
  const check = moduleOf("await new Promise((r) => setTimeout(r, 1e8)); export default () => {};").check(
    clock,
    new AbortController().signal,
  );
  const seen = assert.rejects(check, /did not load within 10 s/);
  // The check sleeps as soon as it has found a file.
  await untilTrue(() => clock.sleeping > 0);
  await clock.advance(10_000);
  await seen;
});

test("a good module passes, and `handle` works as well as a default export", async () => {
  await moduleOf("export function handle() {}").check(new SystemClock(), new AbortController().signal);
});
