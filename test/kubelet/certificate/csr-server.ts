import type { ServerResponse } from "node:http";
import type { CertificateSigningRequest } from "../../../src/staging/apimachinery/api/certificates.js";
import { parseCertificateRequestPem } from "../../../src/staging/pki/csr.js";
import type { CertificateAuthority } from "../../../src/staging/pki/issue.js";
import { issueCertificate } from "../../../src/staging/pki/issue.js";
import { SystemRandom } from "../../../src/util/random.js";
import {
  type Answer,
  makeLeaf,
  type SeenRequest,
  startHttpsServer,
  status,
  type TestServer,
} from "../../support/https-server.js";

export type Condition = { type: string; status: string; reason: string; message: string };
export const APPROVED: Condition = { type: "Approved", status: "True", reason: "Test", message: "yes" };
export const DENIED: Condition = { type: "Denied", status: "True", reason: "Policy", message: "not this one" };
export const FAILED: Condition = {
  type: "Failed",
  status: "True",
  reason: "SignerValidationFailure",
  message: "bad usages",
};

/** The CSR part of an API server, just enough of it: create, get, watch by name; the test plays approver and signer. */
export class CsrServer implements AsyncDisposable {
  readonly csrs = new Map<string, CertificateSigningRequest>();
  readonly #watchers = new Set<{ readonly name: string; readonly response: ServerResponse }>();
  #version = 100;
  #server: TestServer | undefined;
  /** answers these instead, one per request */
  readonly failures: Answer[] = [];
  /** the response to a GET of a Node; default: 404 */
  node: Answer = { status: 404, body: status(404, "NotFound", 'nodes "n1" not found') };
  /** what becomes of a new request at once */
  onCreate: (csr: CertificateSigningRequest) => void = () => {};

  constructor(readonly ca: CertificateAuthority) {}

  static async start(ca: CertificateAuthority): Promise<CsrServer> {
    const server = new CsrServer(ca);
    server.#server = await startHttpsServer(await makeLeaf(ca), (request) => server.#answer(request));
    return server;
  }

  get url(): string {
    return this.#server?.url ?? "";
  }

  get seen(): readonly SeenRequest[] {
    return this.#server?.seen ?? [];
  }

  /** `METHOD path` without the query */
  get lines(): string[] {
    return this.seen.map(
      ({ method, path }) => `${method} ${path.split("?")[0]?.replace(/.*certificatesigningrequests/, "csr")}`,
    );
  }

  #answer({ method, path, body }: SeenRequest): Answer {
    const failure = this.failures.shift();
    if (failure !== undefined) return failure;
    const url = new URL(path, "https://x");
    if (url.pathname.startsWith("/api/v1/nodes/")) return this.node;
    const name = decodeURIComponent(url.pathname.split("/")[5] ?? "");
    if (method === "POST") return this.#create(body as CertificateSigningRequest);
    if (url.searchParams.has("watch")) return (response) => this.#watch(url, response);
    if (name === "") return { status: 200, body: this.#list(url) };
    const found = this.csrs.get(name);
    return found === undefined ? { status: 404, body: status(404, "NotFound", "gone") } : { status: 200, body: found };
  }

  #create(sent: CertificateSigningRequest): Answer {
    const name = sent.metadata.name ?? `csr-${this.csrs.size}xyz`;
    if (this.csrs.has(name)) return { status: 409, body: status(409, "AlreadyExists", `"${name}" already exists`) };
    this.put({ ...sent, metadata: { ...sent.metadata, name, uid: `uid-${name}` }, status: {} });
    const created = this.csrs.get(name);
    if (created !== undefined) this.onCreate(created);
    return { status: 201, body: created };
  }

  #list(url: URL) {
    const name = url.searchParams.get("fieldSelector")?.replace("metadata.name=", "");
    const items = [...this.csrs.values()].filter((csr) => csr.metadata.name === name);
    return { kind: "CertificateSigningRequestList", metadata: { resourceVersion: String(this.#version) }, items };
  }

  #watch(url: URL, response: ServerResponse): void {
    response.writeHead(200, { "Content-Type": "application/json" }).flushHeaders();
    const name = url.searchParams.get("fieldSelector")?.replace("metadata.name=", "") ?? "";
    this.#watchers.add({ name, response });
    const current = this.csrs.get(name);
    if (Number(current?.metadata.resourceVersion) > Number(url.searchParams.get("resourceVersion"))) {
      response.write(`${JSON.stringify({ type: "MODIFIED", object: current })}\n`);
    }
  }

  put(csr: CertificateSigningRequest): void {
    this.#version++;
    const stored = { ...csr, metadata: { ...csr.metadata, resourceVersion: String(this.#version) } };
    this.csrs.set(csr.metadata.name ?? "", stored);
    this.#tell("MODIFIED", stored);
  }

  delete(name: string): void {
    const csr = this.csrs.get(name);
    this.csrs.delete(name);
    if (csr !== undefined) this.#tell("DELETED", csr);
  }

  #tell(type: string, object: CertificateSigningRequest): void {
    for (const { name, response } of this.#watchers) {
      if (name === object.metadata.name) response.write(`${JSON.stringify({ type, object })}\n`);
    }
  }

  /** Ends every open watch, as a server does at its timeout. */
  endWatches(): void {
    for (const { response } of this.#watchers) response.end();
    this.#watchers.clear();
  }

  setCondition(name: string, condition: Condition): void {
    const csr = this.csrs.get(name);
    if (csr === undefined) throw new Error(`no CSR ${name}`);
    this.put({ ...csr, status: { ...csr.status, conditions: [...(csr.status?.conditions ?? []), condition] } });
  }

  /** Approves and signs, in two steps as the controllers do. @param hours of life, may be negative */
  issue(name: string, nowMs: number, hours = 24): void {
    this.setCondition(name, APPROVED);
    const csr = this.csrs.get(name);
    if (csr === undefined) return;
    const request = parseCertificateRequestPem(Buffer.from(csr.spec.request, "base64").toString());
    const pem = issueCertificate(
      this.ca,
      {
        subject: request.subject,
        spkiDer: request.spkiDer,
        sans: request.sans,
        usages: ["digital signature", "client auth"],
        notBeforeMs: nowMs + Math.min(0, hours) * 3_600_000 - 300_000,
        notAfterMs: nowMs + hours * 3_600_000,
      },
      new SystemRandom(),
    );
    this.put({ ...csr, status: { ...csr.status, certificate: Buffer.from(pem).toString("base64") } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.endWatches();
    await this.#server?.[Symbol.asyncDispose]();
  }
}
