import type { DecisionFact, Peer } from "../../trace/events.js";
import type { Level, Trace } from "../../trace/trace.js";
import { defined } from "../../util/defined.js";

type Details = { readonly level?: Level; readonly file?: string; readonly peer?: Peer };
type DecisionDetails = Details & { [Name in "constants" | "compared"]?: DecisionFact[Name] | undefined };

/** What observers share: each words the facts of an algorithm, which has no prose itself. */
export abstract class KubeletObserver {
  /** upstream's, that most facts name */
  protected abstract readonly file: string;

  constructor(readonly trace: Trace) {}

  /** @returns the id of the fact */
  protected decision(
    what: string,
    why: string,
    func?: string,
    { level, peer, constants, compared, file }: DecisionDetails = {},
  ): string {
    const details = { ...defined({ constants, compared }), ...this.#upstream(func, file) };
    const fact = { kind: "decision", what, why, ...details } as const;
    return this.trace.emit(fact, { actor: "kubelet", ...defined({ level, peer }) }).id;
  }

  /** @returns the id of the fact */
  protected state(
    subject: string,
    what: string,
    to: string,
    func?: string,
    { level, peer, from, file, id }: Details & { readonly from?: string | undefined; readonly id?: string } = {},
  ): string {
    const fact = { kind: "state", subject, what, ...defined({ from }), to, ...this.#upstream(func, file) } as const;
    return this.trace.emit(fact, { actor: "kubelet", ...defined({ level, peer, id }) }).id;
  }

  protected error(message: string, { level, hint }: { readonly level?: Level; readonly hint?: string } = {}): void {
    const fact = { kind: "error", message, ...defined({ hint }) } as const;
    this.trace.emit(fact, { actor: "kubelet", ...defined({ level }) });
  }

  protected note(text: string, level: Level = 1, func?: string, file?: string): void {
    this.trace.emit({ kind: "note", text, ...this.#upstream(func, file) }, { actor: "kubelet", level });
  }

  /** Reports a step and runs `body` inside it: it is the cause of what is reported there. */
  protected step<T>(title: string, func: string, body: () => T, file = this.file): T {
    return this.trace.step("kubelet", title, { upstream: { file, func } }, body);
  }

  #upstream(func: string | undefined, file = this.file) {
    return func === undefined ? {} : { upstream: { file, func } };
  }
}
