import { existsSync, writeSync } from "node:fs";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { messageOf } from "../../../util/errors.js";
import { endWithParent } from "../../../util/os/watchdog.js";
import { CaseEnded } from "./fakes.js";
import { firstWrong } from "./first-wrong.js";
import type { FromRunner, RunTests } from "./messages.js";
import { lineIn } from "./run-case.js";
import { syntaxErrorPlace } from "./syntax-error.js";

/** Lines go here at once: code that never comes back would keep a message in its queue. */
const REPORT_FD = 3;

function send(message: FromRunner): void {
  writeSync(REPORT_FD, `${JSON.stringify(message)}\n`);
}

async function main(): Promise<void> {
  const { file, stages } = JSON.parse(await text(process.stdin)) as RunTests;
  // It must not keep a process alive whose code waits for nothing.
  (await endWithParent()).unref();
  const url = pathToFileURL(file).href;
  let written: Readonly<Record<string, unknown>>;
  const neverLoads = () => {
    send({ type: "never-loads" });
    process.exit();
  };
  process.once("beforeExit", neverLoads);
  send({ type: "ready" });
  try {
    written = (await import(url)) as typeof written;
  } catch (error) {
    // Node's message names this program.
    if (!existsSync(file)) return send({ type: "absent" });
    const line = lineIn(error, url);
    const found = error instanceof SyntaxError ? syntaxErrorPlace(file) : undefined;
    const place = found ?? (line === undefined ? {} : { at: line });
    const name = error instanceof Error ? `${error.name}: ` : "";
    send({ type: "unloadable", text: `${name}${messageOf(error)}`, ...place });
    return;
  }
  process.off("beforeExit", neverLoads);
  let last: readonly string[] = [];
  let place = { stage: "", check: "", number: 0 };
  const ends = (kind: "never-ends" | "swallows-abort"): never => {
    send({ type: "wrong", wrong: { ...place, calls: last, want: { kind: "value", text: "" }, got: { kind } } });
    process.exit();
  };
  // The learner's code need not await a call that a fake has ended.
  process.on("unhandledRejection", (error) => {
    if (!(error instanceof CaseEnded)) throw error;
  });
  // Nothing is left that could wake the learner's code.
  process.once("beforeExit", () => ends("never-ends"));
  const wrong = await firstWrong(stages, written, {
    url,
    at: (calls, at) => {
      last = [...calls];
      place = at;
      send({ type: "at", calls: last });
    },
    swallowed: () => ends("swallows-abort"),
    passed: (stage) => send({ type: "passed", stage }),
  });
  send(wrong === undefined ? { type: "end" } : { type: "wrong", wrong });
}

await main();
// What the learner's code started does not keep the process alive; what it printed is still read.
await Promise.all(
  [process.stdout, process.stderr].map((stream) => new Promise<void>((resolve) => stream.write("", () => resolve()))),
);
process.exit();
