import type { TraceEvent } from "../../../events.js";
import { say } from "../language.js";
import { type Chapter, lastWord, type Mark, wayOf } from "./chapter.js";

/** What the API server decided at a station, the last time. */
interface Visit {
  readonly what: string;
  readonly why: string;
  readonly count: number;
}

/** One request on its way through the API server. */
interface Chain {
  /** `POST /api/v1/namespaces/default/pods` */
  readonly title: string;
  /** by station, in the order in which they were reached */
  readonly visits: ReadonlyMap<string, Visit>;
}

interface Requests {
  /** by the id of the request's fact */
  readonly recent: ReadonlyMap<string, Chain>;
  /** the command's own request, else the latest one */
  readonly shown: string;
  readonly isOwn: boolean;
}

const NEW: Chain = { title: "", visits: new Map() };
/** Requests overlap; earlier ones are forgotten. */
const MAX_RECENT = 24;

/** The stations in their order, and upstream's functions that facts about them mirror. */
const STATIONS: Readonly<Record<string, readonly string[]>> = {
  authentication: ["WithAuthentication"],
  authorization: ["WithAuthorization", "WithImpersonation"],
  "decoding and defaults": ["NegotiateInputSerializer", "codec.Decode", "patcher.applyPatch"],
  "mutating admission": ["chainAdmissionHandler.Admit"],
  validation: ["strategy.Validate", "strategy.ValidateUpdate"],
  "validating admission": ["chainAdmissionHandler.Validate"],
  storage: ["Create", "GuaranteedUpdate", "conditionalDelete", "Get", "List", "DryRunnableStorage"],
  answer: ["WriteObjectNegotiated"],
};
const STATION_OF = new Map(
  Object.entries(STATIONS).flatMap(([one, funcs]) => funcs.map((func) => [func, one] as const)),
);
const OF_WRITES = /^(?:decoding|mutating|valid)/;

/** A request's way through the API server: stations, the transaction, and where it was refused. */
export const request: Chapter<Requests> = {
  id: "request",
  title: "Request",
  commands: ["request"],
  // A client in the API server's process passes no stages.
  isAbout: (event, now) =>
    (event.kind === "request" && event.server.startsWith("https:")) || now?.recent.has(requestOf(event) ?? "") === true,
  read(model, event) {
    const id = requestOf(event);
    if (id === undefined) return model;
    const { recent = new Map<string, Chain>(), shown = id, isOwn = false } = model ?? {};
    const before = recent.get(id) ?? NEW;
    if (event.kind === "request") {
      const isCommands = event.actor === "user" && event.chapter === "request" && !/[?&]watch=/.test(event.path);
      if (!isCommands) return model;
      return { recent: keep(recent, id, { ...before, title: titleOf(event) }), shown: id, isOwn: true };
    }
    const after = event.kind === "decision" ? visit(before, event) : before;
    if (after === before) return model;
    return { recent: keep(recent, id, after), shown: isOwn ? shown : id, isOwn };
  },
  draw(now, ever, { event }) {
    const selected = (event && requestOf(event)) ?? "";
    // A request has not reached a station when it begins.
    const begun = event?.kind === "request" ? { ...NEW, title: titleOf(event) } : NEW;
    const id = now?.recent.has(selected) || begun !== NEW ? selected : (now?.shown ?? ever.shown);
    const chain = now?.recent.get(id) ?? begun;
    const whole = ever.recent.get(id) ?? chain;
    const isRead = whole.title.startsWith("GET ");
    const status = Number(/\d{3}/.exec(whole.visits.get("answer")?.what ?? "")?.[0] ?? 0);
    const refusedBy = status < 400 ? undefined : [...whole.visits.keys()].filter((one) => one !== "answer").at(-1);
    const all = Object.keys(STATIONS).filter((station) => !isRead || !OF_WRITES.test(station));
    const stations = all.map((station) => {
      const found = chain.visits.get(station);
      const isBad = found !== undefined && refusedBy !== undefined && (station === "answer" || station === refusedBy);
      const isSkipped = refusedBy !== undefined && !whole.visits.has(station);
      const words = isSkipped
        ? { text: say("not reached") }
        : wordsOf(station, found ?? whole.visits.get(station), isBad);
      const tone: Pick<Mark, "tone"> | undefined = isBad ? { tone: "bad" } : isSkipped ? { tone: "gone" } : undefined;
      return { title: say(station), isReached: found !== undefined, ...words, ...tone };
    });
    return [{ kind: "line", text: whole.title, tone: "now" }, wayOf(stations)];
  },
};

function titleOf({ method, path }: Extract<TraceEvent, { readonly kind: "request" }>): string {
  return `${method} ${path.replace(/\?.*/, "")}`;
}

/** The id of the request that a fact is, or that the API server handles. */
function requestOf({ kind, actor, id, causedBy }: TraceEvent): string | undefined {
  return kind === "request" ? id : actor === "apiserver" ? causedBy : undefined;
}

function visit(chain: Chain, { what, why, upstream }: Extract<TraceEvent, { readonly kind: "decision" }>): Chain {
  const func = upstream?.file.startsWith("staging/src/k8s.io/apiserver/") ? upstream.func : "";
  if (func === "WithRequestInfo") return { ...chain, title: why };
  const station = STATION_OF.get(func);
  if (station === undefined) return chain;
  const count = (chain.visits.get(station)?.count ?? 0) + 1;
  return { ...chain, visits: new Map(chain.visits).set(station, { what, why, count }) };
}

function keep(recent: ReadonlyMap<string, Chain>, id: string, chain: Chain): ReadonlyMap<string, Chain> {
  const kept = new Map(recent).set(id, chain);
  const [first = ""] = kept.keys();
  if (kept.size > MAX_RECENT) kept.delete(first);
  return kept;
}

function wordsOf(station: string, visit: Visit | undefined, isBad: boolean): Partial<Mark> {
  if (visit === undefined) return {};
  const { what, why, count } = visit;
  if (station === "storage") return { code: what, text: why };
  if (isBad) return { text: `${what}: ${why}` };
  // `is kubernetes-admin`, in each language
  if (station === "authentication") return { text: what.replace(/^\S+ /, "") };
  return {
    text: station === "mutating admission" && count > 1 ? say("{1} and {2} more", lastWord(what), count - 1) : what,
  };
}
