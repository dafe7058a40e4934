import assert from "node:assert/strict";
import type { Status } from "../../../../src/staging/apimachinery/api/meta.js";
import {
  type ConnectSpdyRemoteCommandOptions,
  connectSpdyRemoteCommand,
} from "../../../../src/staging/client-go/remotecommand/spdy.js";
import type {
  RemoteCommandClientSession,
  RemoteCommandOptions,
  RemoteCommandServerSession,
} from "../../../../src/staging/streaming/remote-command/session.js";
import {
  type AcceptSpdyOptions,
  acceptSpdyRemoteCommand,
} from "../../../../src/staging/streaming/remote-command/spdy-server.js";
import { FakeClock, untilTrue } from "../../../support/fake-clock.js";
import { startUpgradeServer, type UpgradeServer } from "../support/upgrade-server.js";

export const { signal } = new AbortController();
export const PIPES: RemoteCommandOptions = { stdin: true, stdout: true, stderr: true, tty: false };
export const TERMINAL: RemoteCommandOptions = { stdin: true, stdout: true, stderr: false, tty: true };
export const EXIT_3: Status = {
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  reason: "NonZeroExitCode",
  message: "command terminated with non-zero exit code: exit status 3",
  details: { causes: [{ reason: "ExitCode", message: "3" }] },
};

export interface Setup {
  readonly server: UpgradeServer;
  readonly clock: FakeClock;
  /** the errors of accepts without a session */
  readonly refusals: string[];
  open(more?: Partial<ConnectSpdyRemoteCommandOptions>): Promise<RemoteCommandClientSession>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A server that runs `command` for each client. */
export async function serve(
  options: RemoteCommandOptions,
  command: (session: RemoteCommandServerSession) => Promise<void>,
  accept: Partial<AcceptSpdyOptions> = {},
): Promise<Setup> {
  const clock = new FakeClock();
  const refusals: string[] = [];
  const server = await startUpgradeServer(async (request, socket, head) => {
    try {
      await command(await acceptSpdyRemoteCommand(request, socket, head, { options, clock, ...accept }));
    } catch (error) {
      refusals.push(String(error));
    }
  });
  return {
    server,
    clock,
    refusals,
    async open(more = {}) {
      const connected = await connectSpdyRemoteCommand(`${server.url}/exec`, { options, clock, ...more }, signal);
      assert.equal(connected.outcome, "connected");
      return connected.session;
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await untilTrue(() => clock.sleeping === 0);
    },
  };
}

export async function cat(session: RemoteCommandServerSession): Promise<void> {
  for await (const piece of session.stdin ?? []) await session.stdout?.write(piece);
  await session.stderr?.write(Buffer.from("done"));
  await session.finish(EXIT_3);
}
