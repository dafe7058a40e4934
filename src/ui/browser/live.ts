import { batch, signal } from "@preact/signals";
import { parseFacts } from "../facts.js";
import {
  EVENTS_PATH,
  KEYS_PATH,
  type KeyPress,
  type LiveEvents,
  type LiveKey,
  type LiveState,
} from "../live-protocol.js";
import type { PageState } from "./state.js";

/** Whether facts come: `lost` while the page connects again. */
export type Connection = "connecting" | "live" | "lost" | "ended";

/** The running command behind the page. */
export class Live {
  readonly connection = signal<Connection>("connecting");
  readonly tables = signal<LiveState["tables"]>([]);
  readonly keys = signal<readonly LiveKey[]>([]);
  /** facts that the page has not got */
  readonly leftOut = signal(0);
  /** why the last key was refused */
  readonly refusal = signal("");
  /** lines of facts that are shown with the next frame */
  #waiting = "";

  constructor(readonly state: PageState) {}

  connect(): void {
    const source = new EventSource(EVENTS_PATH + location.search);
    const on = <K extends keyof LiveEvents>(name: K, handle: (data: string) => void) =>
      source.addEventListener(name, (event) => handle((event as MessageEvent<string>).data));
    source.addEventListener("open", () => {
      this.connection.value = "live";
    });
    source.addEventListener("error", () => {
      this.connection.value = "lost";
    });
    on("fact", (lines) => this.#receive(lines));
    on("left-out", (data) => {
      this.leftOut.value += (JSON.parse(data) as LiveEvents["left-out"]).count;
    });
    on("state", (data) => {
      this.tables.value = (JSON.parse(data) as LiveEvents["state"]).tables;
    });
    on("keys", (data) => {
      this.keys.value = JSON.parse(data) as LiveEvents["keys"];
    });
    on("end", () => {
      source.close();
      batch(() => {
        this.connection.value = "ended";
        this.keys.value = [];
      });
    });
  }

  /** A page is drawn once for all facts of a frame. */
  #receive(lines: string): void {
    const isScheduled = this.#waiting !== "";
    this.#waiting += `${lines}\n`;
    if (isScheduled) return;
    requestAnimationFrame(() => {
      const facts = parseFacts(this.#waiting);
      this.#waiting = "";
      this.state.add(facts);
    });
  }

  /** Presses a key of the command's window. What it did comes as a fact. */
  async press(key: string): Promise<void> {
    const body = JSON.stringify({ key } satisfies KeyPress);
    const headers = { "content-type": "application/json" };
    try {
      const answer = await fetch(KEYS_PATH + location.search, { method: "POST", headers, body });
      const { error = "" } = (await answer.json()) as { readonly error?: string };
      this.refusal.value = error;
    } catch {
      this.refusal.value = "the command does not answer";
    }
  }
}
