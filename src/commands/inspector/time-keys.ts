import { HeldTime, type Passed } from "../../testbed/time/held-time.js";
import { secondsText, timerCells, timerText } from "../../testbed/time/timer-text.js";
import type { LiveFuture } from "../../trace/ui/live-protocol.js";
import { type Clock, SystemClock } from "../../util/clock.js";
import type { InspectorKey } from "./key-table.js";

/** The interval of Lease and status: a jump meets each frequent timer of a kubelet. */
const JUMP_MS = 10_000;
/** The timers that a jump names; more would hide what they caused. */
const NAMED = 3;
/** The timers on the live page. */
const SHOWN = 8;

/**
 * The keys that hold the time of a window.
 * @param kind of its cluster: only a control plane of this process has its clock
 * @param foreign a runtime of somebody else, which has a clock of its own
 */
export function timeKeys(
  clock: Clock,
  kind: "embedded" | "joined" | "real" | undefined,
  foreign?: string,
): readonly InspectorKey[] {
  if (kind !== "embedded" || !(clock instanceof SystemClock)) return [];
  const time = new HeldTime(clock);
  const pause = async () => {
    if (clock.isPaused) clock.resume();
    else clock.pause();
    const next = (await time.settle()).timers.find(({ wait }) => wait !== undefined);
    if (!clock.isPaused) return "the time passes again";
    if (foreign !== undefined)
      return `the time stands still, but not for ${foreign}: it has no clock to hold, and runs in real time`;
    if (next === undefined) return "the time stands still";
    return `the time stands still; in ${secondsText(next.dueMs - clock.now())} ${timerText(next)}`;
  };
  return [
    { key: "z", short: "pause", label: "let the time stand still, or pass", run: pause },
    {
      key: ".",
      short: "step",
      label: "move the time to the next timer",
      run: async (signal) => passedText(await time.step(signal)),
    },
    {
      key: ">",
      short: "+10 s",
      label: "move the time on by 10 s, timer by timer",
      run: async (signal) => passedText(await time.jump(JUMP_MS, signal)),
    },
  ];
}

/** The next timers of a window's clock, for its live page. @param kind as for `timeKeys` */
export function futureOf(
  clock: Clock,
  kind: "embedded" | "joined" | "real" | undefined,
): (() => LiveFuture) | undefined {
  if (kind !== "embedded" || !(clock instanceof SystemClock)) return undefined;
  return () => {
    const timers = clock.pending.filter(({ wait }) => wait !== undefined).slice(0, SHOWN);
    return {
      nowMs: clock.now(),
      isPaused: clock.isPaused,
      timers: timers.map((timer) => {
        const [who = "", what = "", setBy = ""] = timerCells(timer);
        return { dueMs: timer.dueMs, who, what, setBy };
      }),
    };
  };
}

function passedText({ ms, ran }: Passed): string {
  const more = ran.length > NAMED ? `, and ${ran.length - NAMED} more` : "";
  const named = ran.slice(0, NAMED).map(timerText);
  return `${secondsText(ms)} passed: ${named.join("; ")}${more}`;
}
