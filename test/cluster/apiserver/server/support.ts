import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Agent, request as httpsRequest } from "node:https";
import type { ControlPlane, ControlPlaneOptions } from "../../../../src/cluster/control-plane/control-plane.js";
import { startControlPlane } from "../../../../src/cluster/control-plane/start.js";
import { Trace } from "../../../../src/trace/trace.js";
import { SystemRandom } from "../../../../src/util/random.js";
import { FakeClock } from "../../../support/fake-clock.js";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  /** parsed if it is JSON */
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of any shape
  readonly body: any;
}

export interface Asked {
  readonly method?: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: unknown;
  /** default: the administrator */
  readonly as?: Identity;
}

export interface Identity {
  readonly cert?: string;
  readonly key?: string;
  readonly token?: string;
}

export const ANONYMOUS: Identity = {};

/** A control plane without controllers, and a client that returns complete responses. */
export class Face {
  readonly #agents = new Map<Identity, Agent>();

  private constructor(
    readonly controlPlane: ControlPlane,
    readonly clock: FakeClock,
    readonly trace: Trace,
  ) {}

  static async open(options: Partial<ControlPlaneOptions> = {}): Promise<Face> {
    const clock = new FakeClock();
    const { trace = new Trace(clock) } = options;
    const random = new SystemRandom();
    const base = { clock, random, trace, kubeVersion: "1.25", withoutControllers: ["*"] };
    return new Face(await startControlPlane({ ...base, ...options }), clock, trace);
  }

  get admin(): Identity {
    const { clientCertificatePem = "", clientKeyPem = "" } = this.controlPlane.admin;
    this.#admin ??= { cert: clientCertificatePem, key: clientKeyPem };
    return this.#admin;
  }
  #admin: Identity | undefined;

  /** One keep-alive connection per identity. */
  agent(identity: Identity): Agent {
    let agent = this.#agents.get(identity);
    if (agent === undefined) {
      const { cert, key } = identity;
      const { caPem } = this.controlPlane;
      agent = new Agent({ ca: caPem, keepAlive: true, maxSockets: 1, ...(cert === undefined ? {} : { cert, key }) });
      this.#agents.set(identity, agent);
    }
    return agent;
  }

  /** The head of a response, before its body is read. */
  open(path: string, asked: Asked = {}): Promise<IncomingMessage> {
    const { method = "GET", as = this.admin, body } = asked;
    const bytes = body === undefined ? undefined : Buffer.isBuffer(body) ? body : Buffer.from(textOf(body));
    const headers: Record<string, string | string[]> = { ...asked.headers };
    if (bytes !== undefined) {
      headers["content-length"] = String(bytes.length);
      headers["content-type"] ??= "application/json";
    }
    if (as.token !== undefined) headers["authorization"] = `Bearer ${as.token}`;
    return new Promise((resolve, reject) => {
      const { hostname: host, port } = new URL(this.controlPlane.url);
      // The path is sent unchanged: a URL would normalize it.
      const sent = httpsRequest({ host, port, path, method, headers, agent: this.agent(as) }, resolve);
      sent.once("error", reject);
      sent.end(bytes);
    });
  }

  async ask(path: string, asked: Asked = {}): Promise<Answer> {
    const response = await this.open(path, asked);
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    const text = bytes.toString();
    return { status: response.statusCode ?? 0, headers: response.headers, bytes, text, body: parsed(text) };
  }

  async close(): Promise<void> {
    for (const agent of this.#agents.values()) agent.destroy();
    await this.controlPlane.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function textOf(body: unknown): string {
  return typeof body === "string" ? body : JSON.stringify(body);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
