import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { startRuntime } from "../../../src/cluster/runtime/start.js";
import { DEVICE_PLUGIN, REGISTRATION } from "../../../src/kubelet/apis/deviceplugin/v1beta1.js";
import { POD_RESOURCES_LISTER } from "../../../src/kubelet/apis/podresources/v1.js";
import { openPodResources } from "../../../src/kubelet/server/pod-resources.js";
import { openCriProxy } from "../../../src/lab/chaos/real/cri-proxy.js";
import { startVirtualRuntime } from "../../../src/lab/virtual/virtual-runtime.js";
import type { AnyRpc } from "../../../src/staging/cri/grpc/rpc.js";
import { IMAGE_SERVICE, RUNTIME_SERVICE } from "../../../src/staging/cri/services.js";
import { DevicePluginStub } from "../../../src/testbed/fixtures/device-plugin.js";
import { SystemRandom } from "../../../src/util/random.js";
import { DeviceLab } from "../../kubelet/cm/devicemanager/lab.js";
import { FakeClock, untilTrue } from "../../support/fake-clock.js";
import { recordingTrace } from "../../support/trace.js";
import { message } from "./raw-http2.js";

/** A server that is being tested, closed after the test. */
export interface TestedServer {
  readonly socket: string;
  readonly methods: readonly AnyRpc[];
}

const CRI = [...Object.values(RUNTIME_SERVICE), ...Object.values(IMAGE_SERVICE)];

function deps() {
  const clock = new FakeClock();
  return { clock, random: new SystemRandom(), ...recordingTrace(clock) };
}

async function cri(start: () => Promise<{ readonly endpoint: string; close(): Promise<void> }>): Promise<TestedServer> {
  const server = await start();
  onTestFinished(() => server.close());
  return { socket: server.endpoint.slice("unix://".length), methods: CRI };
}

/** Every gRPC server of kubelab, by the file that opens it. */
export const GRPC_SERVERS: Readonly<Record<string, () => Promise<TestedServer>>> = {
  "src/cluster/runtime/start.ts": () => cri(() => startRuntime(deps())),
  "src/lab/virtual/virtual-runtime.ts": () =>
    cri(() =>
      startVirtualRuntime(
        { ...deps(), handler: { description: "none", run: async function* () {} } },
        { timeoutMs: undefined },
      ),
    ),
  "src/lab/chaos/real/cri-proxy.ts": async () => {
    const runtime = await startRuntime(deps());
    onTestFinished(() => runtime.close());
    const folder = mkdtempSync(join(tmpdir(), "cri-proxy-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const { signal } = new AbortController();
    return cri(() => openCriProxy({ ...deps(), signal }, runtime.endpoint, folder));
  },
  "src/kubelet/cm/devicemanager/plugin/server.ts": async () => {
    const lab = await DeviceLab.start();
    return { socket: join(lab.folder, "kubelet.sock"), methods: Object.values(REGISTRATION) };
  },
  "src/kubelet/server/pod-resources.ts": async () => {
    const { metrics, manager: deviceManager, rootDir } = await DeviceLab.start();
    const podManager = { getPods: () => [] };
    const server = await openPodResources({ ...deps(), metrics, podManager, deviceManager }, rootDir);
    assert.ok(server);
    onTestFinished(() => server.close());
    const socket = server.endpoint.slice("unix://".length);
    return { socket, methods: Object.values(POD_RESOURCES_LISTER) };
  },
  "src/testbed/fixtures/device-plugin.ts": async () => {
    const lab = await DeviceLab.start();
    const resource = { folder: lab.folder, resourceName: "example.com/gpu", count: 2 };
    const plugin = new DevicePluginStub(deps(), resource);
    const end = new AbortController();
    let isRegistered = false;
    const run = plugin.run(() => {
      isRegistered = true;
    }, end.signal);
    onTestFinished(async () => {
      end.abort();
      await run.catch(() => {});
    });
    await untilTrue(() => isRegistered);
    // The plugin closes its server when ListAndWatch ends: the kubelet has gone.
    const { listAndWatch: _, ...others } = DEVICE_PLUGIN;
    return { socket: plugin.socketPath, methods: Object.values(others) };
  },
};

/** An HTTP/2 connection to a socket, closed after the test. */
export function openSession(socket: string): ClientHttp2Session {
  const session = connectHttp2("http://localhost", { createConnection: () => connect(socket) });
  session.on("error", () => {});
  onTestFinished(() => session.destroy());
  return session;
}

/** Begins a call; its errors are the client's own. */
export function begin(session: ClientHttp2Session, path: string): ClientHttp2Stream {
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    ":authority": "localhost",
    "content-type": "application/grpc",
    te: "trailers",
  });
  return stream.on("error", () => {}).resume();
}

/** Makes a call with an empty request. @returns its `grpc-status` */
export async function call(session: ClientHttp2Session, path: string): Promise<string> {
  const stream = begin(session, path);
  stream.end(message(Buffer.alloc(0)));
  let status = "";
  const note = (fields: { readonly "grpc-status"?: string | string[] | undefined }) => {
    status = String(fields["grpc-status"] ?? status);
  };
  stream.on("response", note).on("trailers", note);
  await once(stream, "close");
  return status;
}
