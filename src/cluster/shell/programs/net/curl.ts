import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { NetError } from "../../../../util/net/net-error.js";
import { FsError } from "../../fs/fs-error.js";
import { resolvePath } from "../../fs/paths.js";
import { type Deadline, deadline } from "../../net/deadline.js";
import { bodyOf, HttpFailure, headLines, sendHttp } from "../../net/http-client.js";
import { lookUpHost } from "../../net/resolver.js";
import { connectTls } from "../../net/tls.js";
import { openSink } from "../../process/descriptors.js";
import { duplexOf } from "../../process/duplex.js";
import type { SocketAddress } from "../../process/ports.js";
import type { Self } from "../../process/process.js";
import type { ByteSink } from "../../streams.js";
import { print, warn } from "../console.js";
import { CURL_OPTIONS, requestBody, requestHeaders } from "./curl-options.js";
import { type NetOptions, parseOptions } from "./options.js";
import { formatTarget, hostHeader, parseTarget, redirected, type Target } from "./url.js";
import { type Transfer, writeOut } from "./write-out.js";

const VERSION = "7.88.1";
const HINT = "curl: try 'curl --help' or 'curl --manual' for more information\n";
const MAX_REDIRECTS = 50;

/** An error that ends curl: its exit code and message. */
class CurlError extends Error {
  override readonly name = "CurlError";
  constructor(
    readonly exitCode: number,
    message: string,
  ) {
    super(message);
  }
}

/**
 * `curl [options] URL...`, in the pods' network.
 * Differs: shows no progress; has no proxies, cookies or uploads, and no protocols other than HTTP.
 */
export async function curl(self: Self): Promise<number> {
  const options = parseOptions(self.argv.slice(1), CURL_OPTIONS);
  if (options.problem !== undefined) {
    const [, option = ""] = /'(.*)'/.exec(options.problem) ?? [];
    const shown = option.startsWith("-") ? option : `-${option}`;
    const why = options.problem.includes("requires") ? "requires parameter" : "is unknown";
    await warn(self, `curl: option ${shown}: ${why}\n${HINT}`);
    return 2;
  }
  if (options.has("version")) {
    await print(self, `curl ${VERSION} (kubelab) Protocols: http https\n`);
    return 0;
  }
  const urls = [...options.all("url"), ...options.rest];
  if (urls.length === 0) {
    await warn(self, `curl: no URL specified!\n${HINT}`);
    return 2;
  }
  let code = 0;
  for (const [at, url] of urls.entries()) code = await new Curl(self, options).run(url, at);
  return code;
}

/** One transfer. */
class Curl {
  readonly #startMs: number;
  readonly #transfer: Transfer;

  constructor(
    readonly self: Self,
    readonly options: NetOptions,
  ) {
    this.#startMs = self.machine.clock.now();
    this.#transfer = { url: "", code: 0, sizeBytes: 0, headerBytes: 0, redirects: 0, times: {}, method: "GET" };
  }

  /** @returns the exit code */
  async run(url: string, index: number): Promise<number> {
    const { self, options } = this;
    const retries = Number(options.text("retry") ?? 0) || 0;
    let code = 0;
    for (let attempt = 0; ; attempt++) {
      using limit = deadline(self.machine.clock, options.milliseconds("max-time"), self.signal);
      code = await this.#attempt(url, index, limit);
      const mayRetry = code === 28 || code === 6 || (code === 7 && options.has("retry-connrefused"));
      if (!mayRetry || attempt >= retries) break;
      await self.machine.clock.sleep(options.milliseconds("retry-delay") ?? 1_000 * 2 ** attempt, self.signal);
    }
    const format = options.text("write-out");
    this.#transfer.exitCode = code;
    this.#time("total");
    if (format !== undefined) await print(self, writeOut(format, this.#transfer));
    return code;
  }

  async #attempt(url: string, index: number, limit: Deadline): Promise<number> {
    const { self, options } = this;
    try {
      await this.#follow(url, index, limit);
      return 0;
    } catch (error) {
      self.signal.throwIfAborted();
      const failure = error instanceof CurlError ? error : this.#explain(error, limit);
      if (failure === undefined) throw error;
      const isQuiet = options.has("silent") && !options.has("show-error");
      if (!isQuiet) await warn(self, `curl: (${failure.exitCode}) ${failure.message}\n`);
      return failure.exitCode;
    }
  }

  #explain(error: unknown, limit: Deadline): CurlError | undefined {
    if (limit.isOver) {
      const received = `${this.#transfer.sizeBytes} ${this.#transfer.sizeBytes === 0 ? "bytes" : "out of 0 bytes"} received`;
      return new CurlError(28, `Operation timed out after ${this.#elapsedMs} milliseconds with ${received}`);
    }
    if (error instanceof HttpFailure) {
      if (error.reason === "empty") return new CurlError(52, "Empty reply from server");
      if (error.reason === "not-http") return new CurlError(1, "Received HTTP/0.9 when not allowed");
      return new CurlError(56, "Recv failure: Connection reset by peer");
    }
    if (error instanceof FsError) return new CurlError(23, `Failure writing output to destination: ${error.text}`);
    return undefined;
  }

  get #elapsedMs(): number {
    return this.self.machine.clock.now() - this.#startMs;
  }

  #time(name: string): void {
    this.#transfer.times[name] = this.#elapsedMs;
  }

  async #follow(url: string, index: number, limit: Deadline): Promise<void> {
    const { options } = this;
    let target = parseTarget(url);
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(url) && !/^https?:\/\//i.test(url)) {
      throw new CurlError(1, `Protocol "${url.split(":")[0]}" not supported or disabled in libcurl`);
    }
    let method = this.#method();
    for (;;) {
      if (target === undefined) throw new CurlError(3, "URL using bad/illegal format or missing URL");
      this.#transfer.url = formatTarget(target);
      this.#transfer.method = method;
      const { response, stream } = await this.#exchange(target, method, limit);
      try {
        const status = response.statusCode ?? 0;
        const { location } = response.headers;
        const isRedirect = options.has("location") && status >= 300 && status < 400 && location !== undefined;
        if (!isRedirect) return await this.#finish(response, index, limit);
        this.#transfer.redirects++;
        const limitText = options.text("max-redirs") ?? String(MAX_REDIRECTS);
        if (this.#transfer.redirects > Number(limitText)) {
          throw new CurlError(47, `Maximum (${limitText}) redirects followed`);
        }
        if (options.has("include") || options.has("head")) await this.#writeHead(response, this.self.stdout, limit);
        target = redirected(target, location);
        if (status < 307 && method === "POST" && !options.has("request")) method = "GET";
      } finally {
        stream.destroy();
      }
    }
  }

  #method(): string {
    const { options } = this;
    const given = options.text("request");
    if (given !== undefined) return given;
    if (options.has("head")) return "HEAD";
    const sends = Object.keys(CURL_OPTIONS).some((name) => /^(data|json)/.test(name) && options.has(name));
    return sends && !options.has("get") ? "POST" : "GET";
  }

  async #exchange(
    target: Target,
    method: string,
    limit: Deadline,
  ): Promise<{ readonly response: IncomingMessage; readonly stream: Duplex }> {
    const { options, self } = this;
    const stream = await this.#connect(target, limit);
    try {
      const isGet = options.has("get");
      const given = method === "GET" && !isGet && !options.has("request") ? undefined : requestBody(self, options);
      const body = isGet ? undefined : given;
      const query = isGet && given !== undefined ? `${target.path.includes("?") ? "&" : "?"}${given}` : "";
      const path = `${target.path}${query}`;
      const type = options.has("json") ? "application/json" : "application/x-www-form-urlencoded";
      const credentials = options.text("user") ?? target.credentials;
      const headers = requestHeaders(options, [
        ["Host", hostHeader(target)],
        ...(credentials === undefined
          ? []
          : [["Authorization", `Basic ${Buffer.from(credentials).toString("base64")}`] as const]),
        ["User-Agent", options.text("user-agent") ?? `curl/${VERSION}`],
        ["Accept", options.has("json") ? "application/json" : "*/*"],
        ...(options.has("referer") ? [["Referer", options.text("referer") ?? ""] as const] : []),
        ...(body === undefined ? [] : [["Content-Type", type] as const]),
      ]);
      const sent = [...headers, ...(body === undefined ? [] : [["Content-Length", String(body.length)] as const])];
      await this.#tell(">", [`${method} ${path} HTTP/1.1`, ...sent.map(([name, value]) => `${name}: ${value}`), ""]);
      this.#time("pretransfer");
      const message = { method, path, headers, ...(body === undefined ? {} : { body }) };
      const response = await sendHttp(stream, message, limit.signal);
      this.#time("starttransfer");
      this.#transfer.code = response.statusCode ?? 0;
      this.#transfer.contentType = response.headers["content-type"] ?? "";
      await this.#tell("<", [...headLines(response), ""]);
      return { response, stream };
    } catch (error) {
      stream.destroy();
      throw error;
    }
  }

  async #connect(target: Target, limit: Deadline): Promise<Duplex> {
    const { self, options } = this;
    using patience = deadline(self.machine.clock, options.milliseconds("connect-timeout"), limit.signal);
    const { host, port } = target;
    try {
      const addresses = this.#resolved(target) ?? (await lookUpHost(self, host, patience.signal));
      this.#time("namelookup");
      if (addresses.length === 0) throw new CurlError(6, `Could not resolve host: ${host}`);
      const to = await this.#tryEach(addresses, target, patience.signal);
      const stream = duplexOf(to.connection, self.signal);
      this.#time("connect");
      await this.#say(`Connected to ${host} (${to.address.ip}) port ${port} (#0)`);
      this.#transfer.remote = to.address;
      if (target.scheme === "http") return stream;
      return await this.#secure(stream, host, patience.signal);
    } catch (error) {
      self.signal.throwIfAborted();
      if (patience.isOver && !limit.isOver) {
        throw new CurlError(28, `Connection timed out after ${this.#elapsedMs} milliseconds`);
      }
      throw error;
    }
  }

  /** The addresses of `--resolve HOST:PORT:ADDRESS`. */
  #resolved({ host, port }: Target): readonly string[] | undefined {
    const prefix = `${host}:${port}:`;
    const given = this.options.all("resolve").find((one) => one.startsWith(prefix));
    return given?.slice(prefix.length).split(",");
  }

  async #tryEach(addresses: readonly string[], { host, port }: Target, signal: AbortSignal) {
    let problem = "";
    for (const ip of addresses) {
      const address: SocketAddress = { ip, port };
      await this.#say(`  Trying ${ip}:${port}...`);
      try {
        return { address, connection: await this.self.machine.network.connect(address, signal, this.self) };
      } catch (error) {
        if (!(error instanceof NetError)) throw error;
        problem = error.message;
        await this.#say(`connect to ${ip} port ${port} failed: ${problem}`);
        if (error.code === "ETIMEDOUT") {
          throw new CurlError(28, `Failed to connect to ${host} port ${port} after ${this.#elapsedMs} ms: ${problem}`);
        }
      }
    }
    throw new CurlError(7, `Failed to connect to ${host} port ${port} after ${this.#elapsedMs} ms: ${problem}`);
  }

  async #secure(stream: Duplex, host: string, signal: AbortSignal): Promise<Duplex> {
    const { self, options } = this;
    const read = (name: string) => {
      const path = options.text(name);
      return path === undefined ? undefined : self.machine.fs.readFile(resolvePath(self.cwd, path));
    };
    const [ca, cert, key] = [read("cacert"), read("cert"), read("key")];
    const isInsecure = options.has("insecure");
    try {
      const files = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
      const secured = await connectTls(stream, { host, isInsecure, ...files }, signal);
      this.#time("appconnect");
      return secured;
    } catch (error) {
      stream.destroy();
      signal.throwIfAborted();
      const { code = "", message } = error as NodeJS.ErrnoException;
      const isUntrusted = /CERT|ISSUER|SIGNATURE|ALTNAME/.test(code);
      if (!isUntrusted) throw new CurlError(35, `error:0A00010B:SSL routines::wrong version number`);
      throw new CurlError(60, `SSL certificate problem: ${message}`);
    }
  }

  async #finish(response: IncomingMessage, index: number, limit: Deadline): Promise<void> {
    const { options } = this;
    const status = response.statusCode ?? 0;
    const fails = status >= 400 && (options.has("fail") || options.has("fail-with-body"));
    const error = new CurlError(22, `The requested URL returned error: ${status}`);
    if (fails && !options.has("fail-with-body")) throw error;
    const sink = this.#output(index);
    if (options.has("include") || options.has("head")) await this.#writeHead(response, sink, limit);
    for await (const bytes of bodyOf(response, limit.signal)) {
      this.#transfer.sizeBytes += bytes.length;
      await sink.write(bytes, limit.signal);
      await this.self.turn();
    }
    await this.#say(`Connection #0 to host ${parseTarget(this.#transfer.url)?.host} left intact`);
    if (fails) throw error;
  }

  #output(index: number): ByteSink {
    const { self, options } = this;
    const name = options.has("remote-name")
      ? (this.#transfer.url.split("?")[0]?.split("/").at(-1) ?? "")
      : (options.all("output")[index] ?? "-");
    if (options.has("remote-name") && name === "") throw new CurlError(23, "Remote file name has no length");
    return name === "-" ? self.stdout : openSink(self, resolvePath(self.cwd, name), { append: false });
  }

  async #writeHead(response: IncomingMessage, sink: ByteSink, limit: Deadline): Promise<void> {
    const head = Buffer.from(`${headLines(response).join("\r\n")}\r\n\r\n`);
    this.#transfer.headerBytes += head.length;
    await sink.write(head, limit.signal);
  }

  async #say(text: string): Promise<void> {
    if (this.options.has("verbose")) await warn(this.self, `* ${text}\n`);
  }

  async #tell(mark: "<" | ">", lines: readonly string[]): Promise<void> {
    if (this.options.has("verbose")) await warn(this.self, lines.map((line) => `${mark} ${line}\n`).join(""));
  }
}
