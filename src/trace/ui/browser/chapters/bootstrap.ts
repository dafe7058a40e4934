import type { TraceEvent } from "../../../events.js";
import { say } from "../language.js";
import { type Chapter, funcIn, type Mark } from "./chapter.js";

/** The credentials of a node that joins. Undefined: it does not exist yet. */
interface Credentials {
  readonly node?: string;
  /** `54mqbu` */
  readonly token?: string;
  readonly isTokenDeleted?: boolean;
  /** where the private key is, and how */
  readonly key?: string;
  /** its name, once a fact has it */
  readonly csr?: string;
  /** why */
  readonly approved?: string;
  /** until when the certificate is valid */
  readonly signed?: string;
  /** the file of the certificate */
  readonly certificate?: string;
  /** with what the kubelet asks the API server */
  readonly holds?: "token" | "certificate";
  /** what a controller has just done, with its own rights and the CA's key: the kubelet's credential has no part in it */
  readonly acting?: "approved" | "signed" | undefined;
}

/** Bootstrap: the ladder of credentials, and the one that the kubelet holds. */
export const bootstrap: Chapter<Credentials> = {
  id: "bootstrap",
  title: "Credentials",
  commands: ["bootstrap"],
  read(model, event, bodies = "") {
    const found = foundIn(event, model ?? {}, bodies);
    // Another token is for another node.
    return found === undefined
      ? model
      : found.token !== undefined && found.holds === undefined
        ? found
        : { ...model, acting: undefined, ...found };
  },
  draw(now = {}, ever) {
    const { holds, isTokenDeleted, acting = holds } = now;
    const [id, user] = [ever.token ?? "", `system:node:${ever.node ?? ""}`];
    const mark = (one: keyof Credentials, title: string, text?: string, code?: string): Mark => {
      const tone = acting === one ? "now" : now[one] === undefined ? "ahead" : "done";
      return { title, text, code, tone: one === "token" && isTokenDeleted && holds !== one ? "gone" : tone };
    };
    const trusted = say("the API server trusts it: it has this Secret");
    const marks = [
      mark(
        "token",
        say("bootstrap token {1}", `${id}.****`),
        isTokenDeleted ? say("deleted: nobody can join with it") : trusted,
        `kube-system/bootstrap-token-${id}`,
      ),
      mark("key", say("private key"), ever.key),
      mark("csr", say("certificate signing request"), say("asked with the token"), ever.csr),
      mark("approved", say("approved"), ever.approved),
      mark("signed", say("signed by the cluster's CA"), say("valid until {1}", ever.signed ?? "")),
      mark(
        "certificate",
        say("client certificate {1}", user),
        holds === "certificate" ? say("the API server trusts it: its CA signed it") : "",
        ever.certificate,
      ),
    ];
    const held = say("The kubelet is {1}", holds === "token" ? `system:bootstrap:${id}` : user);
    const text = holds === undefined ? say("The kubelet holds no credential yet.") : held;
    return [
      { kind: "line", text, tone: holds === undefined ? "ahead" : "now" },
      { kind: "way", marks },
    ];
  },
};

/** What a fact says about credentials. */
function foundIn(
  event: TraceEvent,
  { token = "", certificate, approved, holds }: Credentials,
  bodies: string,
): Credentials | undefined {
  // A node that uses its certificate has joined.
  const isOver = holds === "certificate";
  const { actor, instance: node = "" } = event;
  if (event.kind === "request") {
    const { method, path, identity } = event;
    const stored =
      method === "POST" && path.endsWith("/secrets") ? /"bootstrap-token-(\w{6})"/.exec(bodies)?.[1] : undefined;
    if (stored !== undefined) return { token: stored };
    if (method === "DELETE" && path.endsWith(`/bootstrap-token-${token}`)) return { isTokenDeleted: true };
    if (actor !== "kubelet" || isOver || event.status === 401) return undefined;
    const used = /\b([a-z0-9]{6})\.\*{4}/.exec(identity)?.[1];
    if (used !== undefined)
      return {
        node,
        token: used,
        holds: "token",
        ...(/POST.*signingrequests$/.test(method + path) ? { csr: "" } : {}),
      };
    return certificate !== undefined && identity.includes("system:node:") ? { holds: "certificate" } : undefined;
  }
  if (isOver || token === "") return undefined;
  if (event.kind === "state" && actor === "kubelet") {
    if (event.subject.endsWith("/kubelet.key")) return { node, key: `${event.subject}: ${event.to}` };
    return event.subject.endsWith("/kubelet.pem") ? { node, certificate: event.subject } : undefined;
  }
  if (event.kind === "state" && event.subject.startsWith("CSR ") && event.to.startsWith("Approved"))
    return { csr: event.subject.slice(4), approved: approved ?? event.to };
  if (event.kind !== "decision") return undefined;
  const csr = /^CSR ([^\s:：]+)/.exec(event.what)?.[1];
  if (csr === undefined) return undefined;
  if (funcIn(event, "approver/sarapprove.go") !== undefined) return { csr, approved: event.why, acting: "approved" };
  const days = event.why.match(/\d{4}-\d\d-\d\dT[\d:]+Z/g);
  return funcIn(event, "signer/signer.go") === undefined
    ? undefined
    : { csr, signed: days?.[1] ?? "", acting: "signed" };
}
