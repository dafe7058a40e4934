import { stripVTControlCharacters } from "node:util";
import { Chalk } from "chalk";
import { HINT_PRICE } from "../../../lab/labs/progress/result.js";
import type { LabMessage } from "../../../lab/labs/session/message.js";
import type { LabSession } from "../../../lab/labs/session/session.js";
import type { LabPart, LabView, LiveKey } from "../../../trace/ui/live-protocol.js";
import type { LiveWindow } from "../../../trace/ui/live-server.js";
import type { MessageKey } from "../../../util/i18n/catalogue.js";
import type { StatusTable } from "../../inspector/status-table.js";
import type { LearnContext } from "../context.js";
import type { OtherInput, Question } from "./prompt.js";
import { LabRenderer } from "./render.js";
import { ACTIONS, JUMP_KEY } from "./step-keys.js";
import { WaitingLine } from "./waiting.js";

/** What a page can choose beside the choices of a question. What opens on the terminal or leaves the lab is chosen there. */
const ON_PAGE: ReadonlySet<string> = new Set([
  ...[ACTIONS.go, ACTIONS.check, ACTIONS.hint, ACTIONS.solve, ACTIONS.why, ACTIONS.faster, ACTIONS.slower],
  "next",
]);
/** Lines have no end here: the page wraps them. */
const WIDTH = 1000;
/** The characters of a step's output that a page gets; longer output loses its beginning. */
const MAX_OUTPUT = 20_000;

interface PageKey extends LiveKey {
  readonly value: string;
}

/** The lab on the live page: what the terminal shows, and a second input of its prompts. The player decides what an answer does. */
export class LabPage implements LiveWindow, OtherInput {
  tables: () => readonly StatusTable[] = () => [];
  #session: Pick<LabSession, "definition" | "text" | "step" | "hasRun"> | undefined;
  #title = "";
  #parts: LabPart[] = [];
  #previous: readonly LabPart[] = [];
  /** what the choices of the step are, as Markdown */
  #choices: ReadonlyMap<string, string> = new Map();
  #step: string | undefined;
  /** the step is shown once more, for another terminal */
  #isRepeated = false;
  #waiting = "";
  #canJump = false;
  #mayStop = false;
  #asked: { readonly question: Question; readonly answer: (value: string) => void } | undefined;
  #press: ((key: string) => Promise<void>) | undefined;
  readonly #renderer: LabRenderer;
  #rendered = "";

  constructor(readonly env: LearnContext) {
    const chalk = new Chalk({ level: 0 });
    const options = { chalk, width: () => WIDTH, maxWidth: WIDTH, say: env.say, unicode: true };
    this.#renderer = new LabRenderer(options, {
      write: (text) => {
        this.#rendered += text;
      },
    });
  }

  /** Shows a session's steps. */
  follow(session: LabSession): void {
    this.#session = session;
  }

  /** Shows a message of the lab. */
  tell(message: LabMessage): void {
    const { say } = this.env;
    this.#mayStop = message.kind === "waiting" && message.mayStop;
    this.#waiting = message.kind === "waiting" ? new WaitingLine(this.env).text(message) : "";
    switch (message.kind) {
      case "waiting":
      case "waited":
      case "question":
        if (message.kind === "question") this.#choices = new Map(message.choices.map(({ key, text }) => [key, text]));
        return;
      case "lab":
        this.#title = say("labBegins", { number: message.number, title: message.title });
        this.#parts = [
          { kind: "text", text: message.summary },
          { kind: "note", text: say("elsewhere") },
        ];
        this.#previous = [];
        this.#step = undefined;
        return;
      case "step":
        this.#isRepeated = this.#step === message.id;
        if (this.#isRepeated) return;
        // The introduction stays above the first step.
        if (this.#step !== undefined) {
          this.#previous = this.#parts;
          this.#parts = [];
        }
        this.#step = message.id;
        this.#add("heading", say("stepTitle", message));
        return;
      case "text":
      case "command":
        if (this.#isRepeated) return;
        if (message.kind === "text") this.#add("text", message.markdown);
        else this.#add("command", message.line);
        if (message.kind !== "command") return;
        if (message.where === "elsewhere") this.#add("note", say("runElsewhere"));
        else if (message.isNoticed) this.#add("note", say("runHereOrElsewhere"));
        return;
      case "hint": {
        const { index, count, text } = message;
        this.#add("heading", `${say("hint", { index, count })} ${say("hintCosts", { price: HINT_PRICE })}`);
        this.#add("text", text);
        return;
      }
      case "finished":
        this.#add("heading", say("labFinished"));
        for (const [heading, text] of Object.entries(message.closing)) {
          this.#add("heading", say(heading as MessageKey));
          this.#add("text", text);
        }
        return;
      default:
        this.#isRepeated = false;
        this.#render(message);
    }
  }

  /** Shows lines that are no message of the lab, such as its result. */
  note(lines: readonly string[]): void {
    this.#add("output", `${lines.join("\n")}\n`);
  }

  /** Shows it as the terminal does. */
  #render(message: LabMessage): void {
    this.#rendered = "";
    this.#renderer.write(message);
    const text = stripVTControlCharacters(this.#rendered);
    const isJudged = message.kind === "verdict" || message.kind === "answer";
    const isGood =
      message.kind === "verdict" ? message.ok : message.kind === "answer" && message.given === message.right;
    if (isJudged) this.#add(isGood ? "good" : "bad", text.trim());
    else this.#add("output", text);
  }

  #add(kind: LabPart["kind"], text: string): void {
    if (text.trim() === "") return;
    const last = this.#parts.at(-1);
    const isMore = kind === "output" && last?.kind === "output";
    if (isMore) this.#parts.pop();
    const whole = isMore ? last.text + text : text.replace(/^\n+/, "");
    this.#parts.push({ kind, text: kind === "output" ? whole.slice(-MAX_OUTPUT) : whole });
  }

  /** Resolves with the page's answer to a question of a prompt. @throws the signal's reason */
  ask(question: Question, signal: AbortSignal): Promise<string> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const over = () => {
        if (this.#asked?.question === question) this.#asked = undefined;
        reject(signal.reason);
      };
      signal.addEventListener("abort", over, { once: true });
      this.#asked = { question, answer: resolve };
    });
  }

  /** Passes the keys that work during a wait to `press`, until the result is disposed of. @param canJump see `LabJump` */
  during(press: (key: string) => Promise<void>, canJump = false): Disposable {
    this.#press = press;
    this.#canJump = canJump;
    return {
      [Symbol.dispose]: () => {
        this.#press = undefined;
      },
    };
  }

  readonly keys = (): readonly PageKey[] => {
    const { say } = this.env;
    const one = (key: string, short: string, value: string, label = short) =>
      ({ key, short, value, label, enabled: true }) as const;
    if (this.#asked === undefined) {
      if (this.#press === undefined || this.#waiting === "") return [];
      const stop = this.#mayStop ? [one("Escape", say("keyStop"), "\u001b")] : [];
      const jump = this.#canJump ? [one(JUMP_KEY, say("keyJump"), JUMP_KEY)] : [];
      return [...jump, ...stop, ...["+", "-"].map((key) => one(key, say("keySpeed"), key))];
    }
    const { choices = [], keys = [] } = this.#asked.question;
    const rows = choices.filter((row) => "value" in row);
    const price = say("hintCosts", { price: HINT_PRICE });
    return [
      ...rows.map(({ value, name }, i) => one(String(i + 1), name, value)),
      ...keys
        .filter(({ value }) => ON_PAGE.has(value))
        .map(({ key, name, value }) =>
          one(key, name || say("keySpeed"), value, value === ACTIONS.hint ? `${name} ${price}` : name),
        ),
    ];
  };

  readonly press = async (key: string): Promise<void> => {
    const value = this.keys().find((one) => one.key === key)?.value;
    if (value === undefined) return;
    if (this.#asked === undefined) return this.#press?.(value);
    this.#asked.answer(value);
    this.#asked = undefined;
  };

  readonly lab = (): LabView => {
    const { say, language } = this.env;
    const session = this.#session;
    const steps = session?.definition.steps ?? [];
    const at = session?.step === undefined ? steps.length : steps.indexOf(session.step);
    const { lines = [], choices = [] } = this.#asked?.question ?? {};
    const count = choices.filter((one) => "value" in one).length;
    return {
      language,
      title: this.#title,
      steps: steps.map(({ id }, i) => ({
        title: session?.text.steps[id]?.title ?? id,
        state: i < at ? "done" : i === at ? "now" : "open",
      })),
      parts: this.#parts,
      previous: this.#previous,
      asks: lines.filter((line) => line.trim() !== ""),
      choices: this.keys()
        .slice(0, count)
        .map(({ key, short, value }) => ({ key, text: this.#choices.get(value) ?? short })),
      waiting: this.#waiting,
      pictureless: session?.hasRun === true ? "" : say("nothingRan"),
    };
  };
}
