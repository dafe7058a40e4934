import type { UserInfo } from "../../staging/server/authentication/user.js";
import type { Level } from "../../trace/trace.js";
import { messageOf } from "../../util/errors.js";
import { durationText } from "../../util/release/fact.js";
import { KubeletObserver } from "../types/observer.js";
import type { NodeAttributes } from "./attributes.js";
import type { Call } from "./call.js";
import type { ProxiedStream } from "./proxy-stream.js";
import type { AccessDecision } from "./reviews.js";
import { maskStreamUrl, type StreamUrl } from "./stream-url.js";

/** Who asks for what, and by which proof. */
interface Asked {
  readonly user: UserInfo;
  readonly how: string;
  readonly attributes: NodeAttributes;
}

/** An answer of the API server, and how long it counts. */
export interface Review {
  readonly isRemembered: boolean;
  readonly ttlMs: number;
}

const RUNTIME = { actor: "runtime" } as const;

/** Words the facts of the kubelet's server. */
export class ServerObserver extends KubeletObserver {
  protected readonly file = "pkg/kubelet/server/server.go";

  serving<T>({ method, path }: Call, func: string, body: () => T): T {
    return this.step(`Serve ${method} ${path}`, func, body);
  }

  specIsGone(): void {
    const why =
      "cAdvisor's JSON endpoints are off since v1.18 and gone since v1.21; /stats/summary has the usage, the Node the machine";
    this.decision("answer 404: /spec/ is not served", why, "InstallDefaultHandlers");
  }

  failed({ method, path }: Call, error: unknown): void {
    this.error(`${method} ${path}: ${messageOf(error)}`);
  }

  unauthenticated(why: string, level: Level): void {
    this.decision("answer 401: the sender of the request is unknown", why, "InstallAuthFilter", { level });
  }

  rightsUnknown({ username }: UserInfo, error: Error, level: Level): void {
    const what = `answer 500: the rights of ${username} are unknown`;
    this.decision(what, error.message, "InstallAuthFilter", { level });
  }

  /** @param review undefined: none is needed */
  authorized(asked: Asked, { allowed, reason }: AccessDecision, review: Review | undefined, level: Level): void {
    const { user, how, attributes } = asked;
    const may = `${attributes.verb} nodes/${attributes.subresource}`;
    const who = `${user.username} (${how}; groups ${user.groups.join(", ")})`;
    const said = reason === "" ? "" : `: ${reason}`;
    const why =
      review === undefined
        ? "the authorization mode is AlwaysAllow"
        : `the API server's answer to a SubjectAccessReview${review.isRemembered ? ", remembered" : ""}${said}`;
    const name = allowed ? "cacheAuthorizedTTL" : "cacheUnauthorizedTTL";
    const constants = review && [{ name, value: durationText(review.ttlMs) }];
    this.decision(`${who} ${allowed ? "may" : "may not"} ${may}`, why, "InstallAuthFilter", { level, constants });
  }

  streamRefused({ path }: Call, why: string): void {
    this.error(`${path}: ${why}`, { level: 1 });
  }

  /** The runtime's stream URL, with a host that can be reached. */
  connects(answered: string, { url, replacedHost }: StreamUrl): void {
    if (!this.trace.wants(1)) return;
    const why =
      replacedHost === undefined
        ? "the runtime serves them there"
        : `the runtime answered ${maskStreamUrl(answered)}, and ${replacedHost} is where it listens, not where it is called`;
    this.decision(`connect the streams to ${maskStreamUrl(url)}`, why, "proxyStream", { peer: RUNTIME });
  }

  upgraded(call: Call, protocol: string, subprotocol: string): void {
    this.#connection(call, `upgraded to ${subprotocol === "" ? protocol : `${protocol}, ${subprotocol}`}`);
  }

  streamsEnded(call: Call, end: ProxiedStream): void {
    if (end.outcome === "ended") {
      this.#connection(call, `ended: ${end.toRuntime} bytes to the runtime, ${end.fromRuntime} bytes from it`);
    } else {
      const isFailure = end.outcome === "failed";
      this.#connection(call, isFailure ? `failed: ${end.why}` : `refused by the runtime with ${end.status}`);
    }
  }

  logSent(bytes: number): void {
    this.note(`${bytes} bytes of log sent`, 2);
  }

  noLog(container: string, pod: string, why: string): void {
    this.error(`no log of ${container} in ${pod}: ${why}`, { level: 1 });
  }

  noSummary(error: unknown): void {
    const message = `Error getting summary for resourceMetric prometheus endpoint: ${messageOf(error)}`;
    this.error(message, { level: 2 });
  }

  #connection({ path }: Call, to: string): void {
    this.state(`streams of ${path}`, "connection", to, undefined, { peer: RUNTIME });
  }
}
