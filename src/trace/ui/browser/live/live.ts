import { batch, type Signal, signal } from "@preact/signals";
import { parseFacts } from "../../facts.js";
import {
  EVENTS_PATH,
  KEYS_PATH,
  type KeyPress,
  type LabView,
  type LiveEvents,
  type LiveKey,
  type LiveState,
} from "../../live-protocol.js";
import { language, say } from "../language.js";
import type { PageState } from "../state.js";

/** Whether facts arrive: `lost` while the page reconnects, `refused` if another command has taken the port. */
export type Connection = "connecting" | "live" | "lost" | "refused" | "ended";

/** A page may be open for days. */
const MAX_FACTS = 20_000;
/** The shortest time between two drawings of the lists. */
const MIN_SHOW_MS = 150;
/** Drawing takes at most this fraction of the time: 1/6. */
const SHOW_SHARE = 6;

/** The running command behind the page. */
export class Live {
  readonly connection = signal<Connection>("connecting");
  readonly tables = signal<LiveState["tables"]>([]);
  readonly future = signal<LiveState["future"]>(undefined);
  readonly keys: Signal<readonly LiveKey[]>;
  readonly lab = signal<LabView | undefined>(undefined);
  /** the number of facts that the page missed */
  readonly leftOut = signal(0);
  /** why the last key was refused */
  readonly refusal = signal("");
  /** lines of facts for the next frame */
  #waiting = "";
  #isScheduled = false;
  /** when the lists can be drawn again, by the page's clock */
  #showAtMs = 0;

  /** when the last fact or state came, Unix ms */
  readonly asOfMs = signal(performance.timeOrigin);

  constructor(readonly state: PageState) {
    this.keys = state.windowKeys;
    state.press = (key) => void this.press(key);
  }

  connect(): void {
    const source = new EventSource(EVENTS_PATH + location.search);
    const on = <K extends keyof LiveEvents>(name: K, handle: (data: string) => void) =>
      source.addEventListener(name, (event) => {
        this.asOfMs.value = performance.timeOrigin + performance.now();
        handle((event as MessageEvent<string>).data);
      });
    source.addEventListener("open", () => {
      this.connection.value = "live";
    });
    source.addEventListener("error", () => {
      this.connection.value = source.readyState === EventSource.CLOSED ? "refused" : "lost";
    });
    on("fact", (lines) => this.#receive(lines));
    on("left-out", (data) => {
      this.leftOut.value += (JSON.parse(data) as LiveEvents["left-out"]).count;
    });
    on("state", (data) => {
      const { tables, future, relist } = JSON.parse(data) as LiveEvents["state"];
      batch(() => {
        this.tables.value = tables;
        this.future.value = future;
        this.state.clockMs.value = future?.nowMs ?? relist?.nowMs;
        this.state.relist.value = relist;
      });
    });
    on("keys", (data) => {
      this.keys.value = JSON.parse(data) as LiveEvents["keys"];
    });
    on("lab", (data) => {
      const lab = JSON.parse(data) as LiveEvents["lab"];
      batch(() => {
        this.lab.value = lab;
        language.value = lab.language;
      });
    });
    on("end", () => {
      source.close();
      batch(() => {
        this.connection.value = "ended";
        this.keys.value = [];
        this.future.value = undefined;
      });
    });
  }

  /** Facts are taken once per frame. */
  #receive(lines: string): void {
    this.#waiting += `${lines}\n`;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    requestAnimationFrame(this.#frame);
  }

  readonly #frame = (nowMs: number): void => {
    this.#isScheduled = false;
    if (this.#waiting !== "") this.state.receive(parseFacts(this.#waiting));
    this.#waiting = "";
    // Slow drawing is done less often, so that frames in between keep the dots moving.
    if (nowMs < this.#showAtMs) {
      this.#schedule();
      return;
    }
    this.leftOut.value += this.state.trim(MAX_FACTS);
    this.state.show();
    this.#showAtMs = nowMs + Math.max(MIN_SHOW_MS, SHOW_SHARE * (performance.now() - nowMs));
  };

  /** Presses a key of the command's window. The result arrives as a fact. */
  async press(key: string): Promise<void> {
    const body = JSON.stringify({ key } satisfies KeyPress);
    const headers = { "content-type": "application/json" };
    try {
      const answer = await fetch(KEYS_PATH + location.search, { method: "POST", headers, body });
      const { error = "" } = (await answer.json()) as { readonly error?: string };
      this.refusal.value = error;
    } catch {
      this.refusal.value = say("the command does not answer");
    }
  }
}
