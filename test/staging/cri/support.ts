import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type CriChannel, openCriChannel } from "../../../src/staging/cri/client.js";
import type { RunningGrpcServer } from "../../../src/staging/cri/grpc/grpc-server.js";
import type { SessionLimits } from "../../../src/staging/cri/grpc/session-guard.js";
import { type CriHandlers, type CriVersion, serveCri } from "../../../src/staging/cri/server.js";
import type { TraceEvent } from "../../../src/trace/events.js";
import type { Trace } from "../../../src/trace/trace.js";
import { FakeClock } from "../../support/fake-clock.js";
import { recordingTrace } from "../../support/trace.js";

/** A temporary folder, removed after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "kubelab-cri-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function socketUrl(): string {
  return `unix://${join(temporaryFolder(), "cri.sock")}`;
}

export const VERSION = { version: "0.1.0", runtimeName: "fake", runtimeVersion: "1.2.3", runtimeApiVersion: "v1" };

/** A runtime, closed after the test. */
export async function startRuntime(
  runtime: CriHandlers["runtime"],
  options: {
    readonly image?: CriHandlers["image"];
    readonly endpoint?: string;
    readonly limits?: SessionLimits;
    readonly trace?: Trace;
    readonly criVersion?: CriVersion;
  } = {},
): Promise<RunningGrpcServer> {
  const handlers = { runtime: { version: () => VERSION, ...runtime }, image: options.image ?? {} };
  const server = await serveCri(handlers, options.endpoint ?? socketUrl(), options);
  onTestFinished(() => server.close());
  return server;
}

export interface OpenChannel {
  readonly channel: CriChannel;
  readonly clock: FakeClock;
  readonly trace: Trace;
  readonly events: TraceEvent[];
}

/** A channel with a fake clock, closed after the test. */
export function openChannel(endpoint: string, wantsBodies = false): OpenChannel {
  const clock = new FakeClock();
  const { trace, events } = recordingTrace(clock, wantsBodies);
  const channel = openCriChannel(endpoint, { clock, trace, actor: "kubelet" });
  onTestFinished(() => channel.close());
  return { channel, clock, trace, events };
}
