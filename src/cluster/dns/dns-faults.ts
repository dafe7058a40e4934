import type { Clock } from "../../util/clock.js";
import type { DnsAnswer } from "./answer.js";

/** `not-found`: NXDOMAIN; `fails`: SERVFAIL; `drops`: no answer; `wrong-address`: the address of nobody. */
export const DNS_FAULTS = ["not-found", "fails", "drops", "wrong-address"] as const;

export interface DnsFault {
  readonly how?: (typeof DNS_FAULTS)[number];
  /** how late each answer is, in ms */
  readonly delayMs?: number;
}

/** A cluster IP that no Service has, as a stale answer names it: connections to it time out. */
const WRONG_ADDRESS = "10.96.255.254";

/** Faults of the cluster's name server, which can be set while it runs. */
export class DnsFaults {
  readonly #faults = new Map<string, DnsFault>();

  /** @param name part of the names that it meets; "" for all @param fault undefined removes it */
  set(name: string, fault: DnsFault | undefined): void {
    if (fault === undefined) this.#faults.delete(name);
    else this.#faults.set(name, fault);
  }

  /** The answer as its client gets it; undefined: it gets none. */
  async meet(name: string, reply: DnsAnswer, clock: Clock): Promise<DnsAnswer | undefined> {
    const fault = [...this.#faults].find(([part]) => name.toLowerCase().includes(part.toLowerCase()))?.[1];
    if (fault === undefined) return reply;
    if (fault.delayMs !== undefined) await clock.sleep(fault.delayMs);
    const nothing = { ...reply, answers: [], authorities: [], additionals: [] };
    switch (fault.how) {
      case "not-found":
        return { ...nothing, rcode: "NXDOMAIN", why: "chaos hides the name" };
      case "fails":
        return { ...nothing, rcode: "SERVFAIL", why: "chaos lets the query fail" };
      case "drops":
        return undefined;
      case "wrong-address": {
        const answers = reply.answers.map((one) => (one.type === "A" ? { ...one, data: WRONG_ADDRESS } : one));
        return { ...reply, answers, why: "chaos gives a wrong address" };
      }
      default:
        return reply;
    }
  }
}
