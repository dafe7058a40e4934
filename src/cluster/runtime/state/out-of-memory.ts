import type { Trace } from "../../../trace/trace.js";
import type { Clock } from "../../../util/clock.js";
import { assertNever } from "../../../util/errors.js";
import type { HeldMemory, KillReason, MemoryAccount } from "../../shell/process/memory-account.js";
import type { Machine } from "../../shell/process/process.js";

/** A container can lose processes again and again. Mirrors oom_rs in Linux's mm/oom_kill.c: ten reports in 5 s. */
const BURST = 10;
const INTERVAL_MS = 5_000;

/** Called before a process of the machine is killed because memory ran out. */
export type OutOfMemoryListener = (victim: HeldMemory, reason: KillReason, machine: Machine) => void;

/**
 * Reports each process that a container loses because memory ran out. Mirrors oom_kill_process in Linux's mm/oom_kill.c.
 * @param container `default/web/app`
 */
export function reportKills(
  container: string,
  { clock, trace }: { readonly clock: Clock; readonly trace: Trace },
): OutOfMemoryListener {
  let sinceMs = Number.NEGATIVE_INFINITY;
  let count = 0;
  return (victim, reason, { own, memory }) => {
    if (clock.now() - sinceMs >= INTERVAL_MS) {
      sinceMs = clock.now();
      count = 0;
    }
    count++;
    if (count > BURST) return;
    const program = [...own].find(({ pid }) => pid === victim.pid)?.argv[0] ?? "a new process";
    const what = `kill process ${victim.pid} (${program}) of ${container}: out of memory`;
    const rest = count === BURST ? `; more kills within ${INTERVAL_MS / 1000} s are not reported` : "";
    trace.emit({ kind: "decision", what, why: whyOf(victim, reason, memory) + rest }, { actor: "runtime" });
  };
}

function whyOf(
  victim: HeldMemory,
  reason: KillReason,
  { usedBytes, limitBytes, maxHeldBytes, pool }: MemoryAccount,
): string {
  const used = `it holds ${amount(victim.usedBytes)}, more than any other process of the container`;
  switch (reason) {
    case "limit":
      return limitBytes === undefined
        ? `${used}; together ${amount(usedBytes)}, and without a limit a container gets ${amount(maxHeldBytes)}`
        : `${used}; together ${amount(usedBytes)}, and the container's limit is ${amount(limitBytes)}`;
    case "pool":
      return `${used}; all containers of the runtime hold ${amount(pool.heldBytes)} of ${amount(pool.limitBytes)}`;
    case "text":
      return `one text or the heap of one command would be larger than this runtime can hold`;
    case "asked":
      return "the runtime's control API asked for it";
    default:
      return assertNever(reason);
  }
}

/** `63.9 MiB` */
function amount(bytes: number): string {
  return `${Math.round((bytes / 2 ** 20) * 10) / 10} MiB`;
}
