import { writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { isAbortError } from "../../../util/errors.js";
import { MessageError } from "../../../util/i18n/message-error.js";
import { makeFolder } from "../../../util/os/files.js";
import { evaluateWithin, type Waiting } from "../checks/check.js";
import type { CheckView, Verdict } from "../checks/leaf-check.js";
import { findInOutput } from "../checks/output.js";
import type { LabEnvironment } from "../environment/environment.js";
import type { CommandResult, KeptCommand, OutputListener } from "../environment/runner.js";
import type { Action, Check } from "../format/schema.js";
import type { LabWords } from "./words.js";

/** An action of the lab itself failed: the lab is broken, and the learner did nothing wrong. Localized. */
export class LabBroken extends Error {
  override readonly name = "LabBroken";
}

/** The interval for reading a background command's output, in ms of the wall clock. */
const LOOK_AGAIN_MS = 20;
/** The interval for reporting the remaining time, in ms of the wall clock. */
const COUNT_DOWN_MS = 200;
/** The time limit for the start of a background command, in ms of the wall clock. */
const BEGIN_LIMIT_MS = 20_000;

/** The commands of a lab: results by name, and the commands that still run. */
export class LabRuns implements AsyncDisposable {
  readonly #results = new Map<string, CommandResult>();
  readonly #kept = new Map<string, KeptCommand>();
  readonly #followers = new Set<(name: string) => void>();

  constructor(
    readonly environment: LabEnvironment,
    readonly words: Pick<LabWords, "say">,
  ) {}

  /** The output of a background command up to now, for checks. */
  view(): CheckView {
    const { environment } = this;
    const { say } = this.words;
    return {
      client: environment.client,
      folder: environment.folder,
      say,
      output: (name) => this.#kept.get(name)?.result ?? this.#results.get(name) ?? environment.output(name),
      run: (line, signal) => environment.runner.run(line, undefined, signal),
    };
  }

  /** @param patience aborts when the caller stops waiting */
  check(check: Check, signal: AbortSignal, onWaiting?: Waiting, patience?: AbortSignal): Promise<Verdict> {
    return evaluateWithin(check, this.view(), this.environment, signal, onWaiting, patience);
  }

  /** Calls `onChange` with the name of each background command that prints or ends, until the result is disposed of. */
  follow(onChange: (name: string) => void): Disposable {
    this.#followers.add(onChange);
    return { [Symbol.dispose]: () => this.#followers.delete(onChange) };
  }

  /** Runs a command to its end and keeps its output under `name`. */
  async run(
    name: string,
    line: string,
    onOutput: OutputListener | undefined,
    signal: AbortSignal,
  ): Promise<CommandResult> {
    const result = await this.environment.runner.run(line, onOutput, signal);
    this.#results.set(name, result);
    return result;
  }

  /**
   * Starts a command in the background.
   * @param until pattern in the output of a command that has started
   * @throws LabBroken if the command ends before that
   */
  async keep(
    name: string,
    line: string,
    until: string | undefined,
    onOutput: OutputListener | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    await this.stop(name);
    const changed = () => {
      for (const follower of this.#followers) follower(name);
    };
    const kept = this.environment.runner.keep(line, (stream, text, fact) => {
      onOutput?.(stream, text, fact);
      changed();
    });
    this.#kept.set(name, kept);
    void kept.ended.then(changed);
    if (until === undefined) return;
    const { wall, patienceMs } = this.environment;
    const limitMs = wall.now() + BEGIN_LIMIT_MS + patienceMs;
    while (findInOutput(kept.result, "both", until) === undefined) {
      const hasEnded = kept.result.code !== undefined;
      if (hasEnded || wall.now() > limitMs) {
        const key = hasEnded ? "brokenEnded" : "brokenSilent";
        const why = this.words.say(key, { command: line, pattern: until, code: kept.result.code ?? "-" });
        throw new LabBroken(`${why}\n${tail(kept.result)}`);
      }
      await wall.sleep(LOOK_AGAIN_MS, signal);
    }
  }

  /** Stops a background command if it runs; keeps its output. */
  async stop(name: string): Promise<void> {
    const kept = this.#kept.get(name);
    if (kept === undefined) return;
    await kept.stop();
    this.#results.set(name, kept.result);
    this.#kept.delete(name);
  }

  /** Performs an action of a definition. @throws LabBroken if its result differs from the definition */
  async act(
    action: Action,
    name: string,
    signal: AbortSignal,
    onOutput?: OutputListener,
    onWaiting?: Waiting,
  ): Promise<void> {
    if ("run" in action) {
      const result = await this.run(name, action.run, onOutput, signal);
      if (action.exit !== "any" && result.code !== action.exit) {
        const values = { command: action.run, code: result.code ?? "-", wanted: action.exit };
        throw new LabBroken(`${this.words.say("brokenRun", values)}\n${tail(result)}`);
      }
    } else if ("keep" in action) await this.keep(action.as, action.keep, action.until, onOutput, signal);
    else if ("stop" in action) await this.stop(action.stop);
    else if ("write" in action) await this.#write(action.write, action.text, action.mode);
    else if ("inject" in action) await this.#inject(action, signal, onWaiting);
    else {
      const verdict = await this.check(action.wait, signal, onWaiting);
      if (!verdict.ok) throw new LabBroken(this.words.say("brokenWait", { want: verdict.want, seen: verdict.seen }));
    }
  }

  async #inject(
    { inject, with: args }: Extract<Action, { inject: string }>,
    signal: AbortSignal,
    onWaiting: Waiting | undefined,
  ): Promise<void> {
    const { clock, wall } = this.environment;
    if (inject !== "time-passes" || onWaiting === undefined) return this.environment.inject(inject, args, signal);
    const untilMs = clock.now() + Number(args["minutes"]) * 60_000;
    const over = new AbortController();
    const countDown = async () => {
      while (!over.signal.aborted) {
        onWaiting({ ok: false, want: this.words.say("timeToPass"), seen: "" }, Math.max(0, untilMs - clock.now()));
        await wall.sleep(COUNT_DOWN_MS, over.signal);
      }
    };
    const counted = countDown().catch((error: unknown) => {
      if (!isAbortError(error)) throw error;
    });
    await this.environment.inject(inject, args, signal).finally(() => over.abort());
    await counted;
  }

  async #write(file: string, text: string, mode = "644"): Promise<void> {
    const path = join(this.environment.folder, file);
    if (relative(this.environment.folder, path).startsWith("..")) {
      throw new MessageError("USAGE", ["labWrites", { file }], ["labWritesHint"]);
    }
    await makeFolder(dirname(path));
    await writeFile(path, text, { mode: Number.parseInt(mode, 8) });
  }

  /** Stops all commands that still run, last started first. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of [...this.#kept.keys()].reverse()) await this.stop(name);
  }
}

/** The last lines of a command's output, which usually explain its failure. */
function tail({ stdout, stderr }: CommandResult): string {
  return `${stdout}${stderr}`.trimEnd().split("\n").slice(-12).join("\n");
}
