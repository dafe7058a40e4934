import { once } from "node:events";
import type { KubeClient } from "../../src/staging/client-go/rest/client.js";
import { internalErrorStatus, SUCCESS } from "../../src/staging/streaming/remote-command/status-text.js";
import { SystemClock } from "../../src/util/clock.js";
import { FakeKubelet } from "../support/fake-kubelet.js";
import { exited, type Play, type Plays, playing } from "../support/playing-kubelet.js";

/**
 * A kubelet, runtime and busybox for the topic `websocket`: they send the recorded data, so that the test only compares
 * how the API server forwards it.
 */

const POD = "/api/v1/namespaces/default/pods/ws";
const POD_IP = "10.244.77.51";
const BANNER = "BusyBox v1.35.0 (Debian 1:1.35.0-4+deb12u1+b1) built-in shell (ash)";
const PROMPT = "/ # \u001b[6n";
const PAGE_HEAD =
  "HTTP/1.1 200 OK\r\nDate: Fri, 20 Nov 2026 12:42:43 GMT\r\nConnection: close\r\nContent-type: text/html\r\n" +
  "Accept-Ranges: bytes\r\nLast-Modified: Fri, 20 Nov 2026 12:42:37 GMT\r\n" +
  'ETag: "6b00403d-5"\r\nContent-Length: 5\r\n\r\n';

const exec: Play = async (session, argv) => {
  const out = (text: string) => session.stdout?.write(Buffer.from(text));
  const [name, , script = ""] = argv;
  if (name === "cat") {
    for await (const bytes of session.stdin ?? []) await session.stdout?.write(bytes);
    return SUCCESS;
  }
  if (name !== "sh") return internalErrorStatus("error executing command in container: no such file or directory");
  if (script === "exit 3") {
    return exited(
      3,
      `command terminated with non-zero exit code: error executing command [${argv.join(" ")}], exit code 3`,
    );
  }
  if (script !== "") {
    await out("out\n");
    await session.stderr?.write(Buffer.from("err\n"));
    return SUCCESS;
  }
  await out(`\r\n\r\n${BANNER}\r\nEnter 'help' for a list of built-in commands.\r\n\r\n${PROMPT}`);
  let size = "";
  void (async () => {
    for await (const { width, height } of session.resizes) {
      size = `${height} ${width}`;
      await out("\r/ # \u001b[J");
    }
  })();
  for await (const bytes of session.stdin ?? []) {
    const line = Buffer.from(bytes).toString().trim();
    await out(`${line}\r\n`);
    if (line === "exit") break;
    await out(`${size}\r\n`);
    await out(PROMPT);
  }
  return SUCCESS;
};

const plays: Plays = {
  exec,
  async attach({ signal }) {
    await once(signal, "abort");
    return SUCCESS;
  },
  async forward(connection) {
    if (connection.port === 9) return connection.fail("error forwarding port 9 to pod: connection refused");
    for await (const _request of connection.incoming) break;
    await connection.write(Buffer.from(PAGE_HEAD));
    await connection.write(Buffer.from("page\n"));
    await connection.close();
  },
};

export class WebSocketKubelet implements AsyncDisposable {
  readonly #over = new AbortController();
  #watching: Promise<void> | undefined;

  private constructor(
    readonly kubelet: FakeKubelet,
    readonly admin: KubeClient,
  ) {}

  static async start(admin: KubeClient): Promise<WebSocketKubelet> {
    const options = playing(plays);
    const kubelet = await FakeKubelet.start({
      ...options,
      respond(request, response) {
        const { pathname, searchParams } = new URL(request.url ?? "", "https://kubelet");
        if (pathname.startsWith("/containerLogs/")) {
          const limit = Number(searchParams.get("limitBytes") ?? 100);
          response.flushHeaders();
          if (searchParams.get("tailLines") !== "0") response.write("hello\n".slice(0, limit));
          if (searchParams.get("follow") !== "true") response.end();
          return;
        }
        const headers = { "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" };
        const [code, text] = pathname === "/healthz" ? [200, "ok"] : [404, "404 page not found\n"];
        response.writeHead(code, headers).end(text);
      },
    });
    const conditions = [{ type: "Ready", status: "True", reason: "KubeletReady" }];
    const status = { ...kubelet.nodeStatus, conditions };
    const body = { apiVersion: "v1", kind: "Node", metadata: { name: "real-1" }, status };
    await admin.expect({ method: "POST", path: "/api/v1/nodes", body });
    const one = new WebSocketKubelet(kubelet, admin);
    one.#watching = one.#run();
    return one;
  }

  /** The pod is ready as soon as it exists. */
  async #run(): Promise<void> {
    const conditions = [{ type: "Ready", status: "True" }];
    const status = { phase: "Running", conditions, podIP: POD_IP, podIPs: [{ ip: POD_IP }] };
    const contentType = "application/merge-patch+json";
    const clock = new SystemClock();
    try {
      for (;;) {
        await this.admin.request({ method: "PATCH", path: `${POD}/status`, body: { status }, contentType });
        await clock.sleep(200, this.#over.signal);
      }
    } catch {
      // The topic is over.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#watching;
    await this.kubelet.close();
    await this.admin.expect({ method: "DELETE", path: "/api/v1/nodes/real-1" });
  }
}
