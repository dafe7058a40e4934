import type { Say } from "../../../util/i18n/sentences.js";
import type { Actor, TraceEvent } from "../../events.js";

/** One column of the sequence diagram: an actor, or one of several. */
export interface Lane {
  /** `kubelet node-1` */
  readonly key: string;
  readonly actor: Actor;
  /** `API server` */
  readonly name: string;
  /** the node; undefined if the facts do not say which */
  readonly instance: string | undefined;
}

const ACTORS: Readonly<Record<Actor, string>> = {
  user: "user",
  apiserver: "API server",
  controller: "controllers",
  scheduler: "scheduler",
  dns: "DNS",
  kubelet: "kubelet",
  proxy: "kube-proxy",
  runtime: "runtime",
};
/** From the user to the containers, so that most arrows go to a neighbour. */
const ORDER = Object.keys(ACTORS) as Actor[];

/** Whether the fact is about what came from the other end. */
export function isReceived({ kind }: TraceEvent): boolean {
  return kind === "watch" || kind === "state";
}

/** `:` after the actor, unless the text says what it does: titles, questions and commands are no predicates. */
export function colonBefore(text: string): string {
  return /^(?:[a-z]+s\b|\p{Script=Han})/u.test(text) ? "" : ":";
}

/** Who acts in a sentence: `kubelet node-1`; one of the controllers, which share a lane. */
export function whoIn({ instance }: TraceEvent, lane: Lane, say: Say): string {
  const [name, which] = lane.actor === "controller" && instance ? ["controller", instance] : [lane.name, lane.instance];
  return [say(name), which].filter(Boolean).join(" ");
}

/** The lanes that facts occupy. Each node has a kubelet and a runtime of its own; all controllers share a lane. */
export class Lanes {
  readonly #byKey = new Map<string, Lane>();
  #sorted: readonly Lane[] | undefined;

  /** Where the fact was reported. */
  of({ actor, instance }: TraceEvent): Lane {
    return this.#lane(actor, isPerNode(actor) ? instance : undefined);
  }

  /** The other end of a request, a call, a watch event or a stream; undefined for what happens inside an actor. */
  otherEnd(event: TraceEvent): Lane | undefined {
    switch (event.kind) {
      case "request":
        // The API server is the only client of a kubelet.
        return event.actor === "apiserver" ? this.#lane("kubelet", event.instance) : this.#lane("apiserver", undefined);
      case "watch":
        return this.#lane("apiserver", undefined);
      case "rpc":
        return event.actor === "runtime" ? undefined : this.#lane("runtime", event.instance);
      default: {
        const { peer } = event;
        return peer && this.#lane(peer.actor, isPerNode(peer.actor) ? (peer.instance ?? event.instance) : undefined);
      }
    }
  }

  get sorted(): readonly Lane[] {
    this.#sorted ??= [...this.#byKey.values()].sort(
      (a, b) => ORDER.indexOf(a.actor) - ORDER.indexOf(b.actor) || (a.key < b.key ? -1 : 1),
    );
    return this.#sorted;
  }

  #lane(actor: Actor, instance: string | undefined): Lane {
    const key = instance === undefined ? actor : `${actor} ${instance}`;
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    // A file may name actors that this release does not have.
    const lane: Lane = { key, actor, name: ACTORS[actor] ?? String(actor), instance };
    this.#byKey.set(key, lane);
    this.#sorted = undefined;
    return lane;
  }
}

function isPerNode(actor: Actor): boolean {
  return actor === "kubelet" || actor === "proxy" || actor === "runtime";
}
