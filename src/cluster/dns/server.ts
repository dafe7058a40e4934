import type { RestConfig } from "../../staging/client-go/rest/client.js";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import type { Ctx } from "../../trace/ctx.js";
import { ChildAbort } from "../../util/async/abort.js";
import { messageOf } from "../../util/errors.js";
import { answerQuestion, type DnsAnswer } from "./answer.js";
import { WatchedCluster } from "./cluster-view.js";
import type { DnsFaults } from "./dns-faults.js";
import { decodeQuery, encodeReply, isQuery, MAX_TCP_BYTES } from "./message.js";
import type { AnswerMessage } from "./sockets.js";

/** The limit for queries that wait for the first lists: a resolver's own timeout. */
const MAX_WAIT_MS = 5_000;

export interface DnsServerOptions {
  /** the API server, with the identity of CoreDNS */
  readonly config: RestConfig;
  /** `cluster.local` */
  readonly zone: string;
  /** faults that meet its answers */
  readonly faults?: DnsFaults;
}

/** A name server without sockets. */
export interface DnsServer extends AsyncDisposable {
  readonly answer: AnswerMessage;
  close(): Promise<void>;
}

/**
 * Starts the cluster's name server: it watches the API server, and answers as CoreDNS does. The first answers wait for the first
 * lists.
 *
 * Mirrors CoreDNS with the Corefile that kubeadm writes.
 */
export function startDnsServer(ctx: Ctx, { config, zone, faults }: DnsServerOptions): DnsServer {
  const stop = new AbortController();
  const { clock, random, trace } = ctx;
  const client = createClient(config, { ...ctx, actor: "dns", userAgent: "coredns" });
  const cluster = new WatchedCluster(ctx, client);
  const running = trace
    .detached(() => cluster.run(stop.signal), "start")
    .catch((error: unknown) => {
      if (stop.signal.aborted) return;
      const hint = "Names are answered from what it knows until the cluster starts again.";
      trace.emit(
        { kind: "error", message: `the DNS server stopped watching: ${messageOf(error)}`, hint },
        { actor: "dns" },
      );
    });
  let isReady = false;
  void cluster.synced().then(() => {
    isReady = true;
  });
  const ready = async (): Promise<boolean> => {
    if (isReady) return true;
    using wait = new ChildAbort(stop.signal);
    try {
      await Promise.race([cluster.synced(), clock.sleep(MAX_WAIT_MS, wait.signal)]);
    } finally {
      wait.abort();
    }
    return isReady;
  };
  const answer: AnswerMessage = async (message, transport) => {
    const query = decodeQuery(message);
    if (!isQuery(query)) return query.reply;
    const { question } = query;
    const serial = Math.floor(clock.now() / 1000);
    const hasCluster = await ready();
    const found = hasCluster ? answerQuestion({ view: cluster, zone, random, serial }, question) : NOT_READY;
    const reply = faults === undefined ? found : await faults.meet(question.name, found, clock);
    if (reply === undefined) {
      trace.origin("client", () => {
        const text = `chaos drops the query ${question.type} ${question.name}`;
        trace.emit({ kind: "note", text }, { actor: "dns", level: 1 });
      });
      return undefined;
    }
    trace.origin("client", () => {
      const what = `answer ${question.type} ${question.name} over ${transport.toUpperCase()}: ${summary(reply)}`;
      trace.emit({ kind: "decision", what, why: reply.why }, { actor: "dns", level: reply.answers.length > 0 ? 1 : 2 });
    });
    return encodeReply(query, reply, transport === "udp" ? query.udpBytes : MAX_TCP_BYTES);
  };
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= (async () => {
      stop.abort();
      await running;
      await client.close();
    })();
    return closed;
  };
  return { answer, close, [Symbol.asyncDispose]: close };
}

const NOT_READY: DnsAnswer = {
  rcode: "SERVFAIL",
  isAuthoritative: false,
  answers: [],
  authorities: [],
  additionals: [],
  why: "the first lists from the API server have not arrived",
};

const MAX_SHOWN = 3;

/** `10.96.0.7`, `NXDOMAIN`, `no records` */
function summary({ rcode, answers }: DnsAnswer): string {
  if (rcode !== "NOERROR") return rcode;
  if (answers.length === 0) return "no records";
  const texts = answers.flatMap((one) => {
    if (one.type === "SRV") return [`${one.data.target}:${one.data.port}`];
    return "data" in one && typeof one.data === "string" ? [one.data] : [one.type];
  });
  const more = texts.length - MAX_SHOWN;
  return texts.slice(0, MAX_SHOWN).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
