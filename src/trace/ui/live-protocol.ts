/**
 * What the live page and its server (`--ui`) send each other. The page's own address has a token; it is repeated in each request
 * (`location.search`).
 *
 *   GET  /?token=…         the page
 *   GET  /events?token=…   server-sent events, as `LiveEvents` has them
 *   POST /keys?token=…     a `KeyPress` as JSON: presses a key of the command's window
 */

/** Where the page gets its events. */
export const EVENTS_PATH = "/events";
/** Where the page posts a `KeyPress`. */
export const KEYS_PATH = "/keys";

/** Data of each event, parsed. Only `fact` is not JSON but lines of `factLine`, for `parseFacts`. */
export interface LiveEvents {
  /** one or more facts; a new page first gets the facts so far */
  readonly fact: string;
  /** facts that this page does not get, because they are too old or it reads too slowly */
  readonly "left-out": { readonly count: number };
  /** the whole state, after each change */
  readonly state: LiveState;
  /** the window's keys, after each change */
  readonly keys: readonly LiveKey[];
  /** the lab that is played, after each change */
  readonly lab: LabView;
  /** the command has ended: the page does not reconnect */
  readonly end: Record<string, never>;
}

/** The state that a command shows in addition to its facts. */
export interface LiveState {
  readonly tables: readonly StateTable[];
  readonly future?: LiveFuture;
  readonly relist?: LiveRelist;
}

/** The relists of the command's kubelet, which makes facts of them only when they end. Unix ms on its clock. */
export interface LiveRelist {
  readonly nowMs: number;
  /** the start of the last one that succeeded */
  readonly lastMs?: number;
  /** the start of the one that is under way */
  readonly beganMs?: number;
}

/** Who waits for what on the command's clock, the next one first. */
export interface LiveFuture {
  /** Unix ms on that clock */
  readonly nowMs: number;
  readonly isPaused: boolean;
  readonly timers: readonly FutureTimer[];
}

/** A timer that has not run yet. */
export interface FutureTimer {
  readonly dueMs: number;
  readonly who: string;
  readonly what: string;
  /** `renewInterval = 10 s` */
  readonly setBy: string;
}

/** One table of states: of PLEG's records, pod workers, nodes. */
export interface StateTable {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** below the table */
  readonly note?: string;
}

/** The lab that is played at the terminal: what the learner reads there, and what the prompt asks. Its answers are keys of the window. */
export interface LabView {
  readonly language: "en" | "zh";
  readonly title: string;
  readonly steps: readonly { readonly title: string; readonly state: "done" | "now" | "open" }[];
  /** what the current step has shown so far, in order */
  readonly parts: readonly LabPart[];
  /** what the step before it has shown, its verdict and evidence included */
  readonly previous: readonly LabPart[];
  /** lines above the choices: the question, the goal, the minutes of an exam */
  readonly asks: readonly string[];
  /** each one's key is a key of the window; Markdown */
  readonly choices: readonly { readonly key: string; readonly text: string }[];
  /** what a check waits for; "": nothing */
  readonly waiting: string;
  /** why there is no picture of a step; "": there is one */
  readonly pictureless: string;
}

/** `text` is Markdown, `output` what a terminal would show; the others are lines of plain text. */
export interface LabPart {
  readonly kind: "heading" | "text" | "command" | "output" | "good" | "bad" | "note";
  readonly text: string;
}

/** A key of the command's window. */
export interface LiveKey {
  readonly key: string;
  /** on a button: `delete` */
  readonly short: string;
  /** in full: `delete the newest pod` */
  readonly label: string;
  /** false: pressing it now would only show why it has no effect */
  readonly enabled: boolean;
}

/** The body of POST /keys. */
export interface KeyPress {
  readonly key: string;
}
