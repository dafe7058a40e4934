import { setDefaults } from "../../../src/kubelet/apis/config/defaults.js";
import { KubeletAuth } from "../../../src/kubelet/server/kubelet-auth.js";
import { KubeletServer } from "../../../src/kubelet/server/server.js";
import { SystemClock } from "../../../src/util/clock.js";
import { HttpsClient } from "../../support/https-client.js";
import { makeAuthority, makeLeaf } from "../../support/https-server.js";
import { MemoryClient } from "../../support/memory-client.js";
import { recordingTrace } from "../../support/trace.js";
import { FakeHost } from "./fake-host.js";

const clock = new SystemClock();

export type Leaf = Awaited<ReturnType<typeof makeLeaf>>;

const [clusterCa, servingCa] = await Promise.all([makeAuthority(), makeAuthority()]);
const [serving, admin, weak, foreign, expired, nameless] = await Promise.all([
  makeLeaf(servingCa),
  makeLeaf(clusterCa, { commonName: "admin", organization: ["system:masters"] }),
  makeLeaf(clusterCa, { commonName: "weak" }),
  makeLeaf(servingCa, { commonName: "foreign" }),
  makeLeaf(clusterCa, { commonName: "old", from: -2, to: -1 }),
  makeLeaf(clusterCa, { commonName: "" }),
]);

/** Who is behind the server and its clients: made once for a file of tests. */
export const IDENTITIES = { clusterCa, servingCa, serving, admin, weak, foreign, expired, nameless };

/** A kubelet's server, and clients with different identities. */
export class Lab implements AsyncDisposable {
  readonly clients: HttpsClient[] = [];

  private constructor(
    readonly host: FakeHost,
    readonly server: KubeletServer,
    readonly api: MemoryClient,
    readonly recorded: ReturnType<typeof recordingTrace>,
    readonly auth: KubeletAuth,
  ) {}

  static async start(options: { readonly anonymous?: boolean; readonly down?: boolean } = {}): Promise<Lab> {
    const recorded = recordingTrace(clock);
    const { trace } = recorded;
    const host = new FakeHost();
    const api = new MemoryClient(({ path, body }) => {
      if (options.down === true) return { status: 500, body: "etcd is down" };
      return { status: 201, body: { status: answerTo(path, (body as { spec: Spec }).spec) } };
    });
    const { anonymous = false } = options;
    const config = setDefaults({ authentication: { anonymous: { enabled: anonymous } } }, "1.25");
    const authOptions = { nodeName: "n1", clientCaPem: IDENTITIES.clusterCa.certificatePem, config };
    const auth = new KubeletAuth({ client: api, clock, trace }, authOptions);
    const server = await KubeletServer.listen(
      { host, clock, trace, auth },
      { port: 0, transport: { pair: IDENTITIES.serving } },
    );
    return new Lab(host, server, api, recorded, auth);
  }

  client(identity?: { readonly certificatePem: string; readonly keyPem: string }): HttpsClient {
    const { certificatePem: cert = undefined, keyPem: key = undefined } = identity ?? {};
    const access = {
      url: this.server.url,
      ca: IDENTITIES.servingCa.certificatePem,
      ...(cert && { cert }),
      ...(key && { key }),
    };
    const client = new HttpsClient(access as ConstructorParameters<typeof HttpsClient>[0], 250);
    this.clients.push(client);
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.clients) client.close();
    await this.auth.close();
    await this.server.close();
  }
}

interface Spec {
  readonly token?: string;
  readonly user?: string;
}

/** The API server of these tests: `good` and `weak` are tokens; the user weak has no rights. */
function answerTo(path: string, { token, user }: Spec): object {
  if (path.endsWith("tokenreviews")) {
    if (token === "odd") return { user: {}, error: "token is odd" };
    const isKnown = token === "good" || token === "weak";
    return isKnown ? { authenticated: true, user: { username: `token-${token}`, groups: ["g"] } } : { user: {} };
  }
  return user?.includes("weak") === true || user === "system:anonymous" ? { allowed: false } : { allowed: true };
}
