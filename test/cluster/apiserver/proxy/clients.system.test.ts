import assert from "node:assert/strict";
import { once, setMaxListeners } from "node:events";
import { PassThrough } from "node:stream";
import { Attach, Exec, KubeConfig, Log, PortForward, type V1Status } from "@kubernetes/client-node";
import { describe, test } from "vitest";
import type { Status } from "../../../../src/staging/apimachinery/api/meta.js";
import { connectPortForward } from "../../../../src/staging/client-go/portforward/dialer.js";
import {
  connectRemoteCommand,
  type RemoteCommandProtocol,
} from "../../../../src/staging/client-go/remotecommand/connect.js";
import {
  exitCodeOf,
  internalErrorStatus,
  SUCCESS,
} from "../../../../src/staging/streaming/remote-command/status-text.js";
import { acceptSpdy } from "../../../../src/staging/streaming/spdy/accept.js";
import { SpdyConnection } from "../../../../src/staging/streaming/spdy/connection.js";
import { SystemClock } from "../../../../src/util/clock.js";
import { deferred, textOf } from "../../../staging/streaming/support/upgrade-server.js";
import type { FakeKubeletOptions } from "../../../support/fake-kubelet.js";
import { exited, type Play, type Plays, playing } from "../../../support/playing-kubelet.js";
import { PODS, ProxyLab } from "./lab.js";

const clock = new SystemClock();
const never = new AbortController().signal;
// Many clients connect at once.
setMaxListeners(0, never);
const RELEASES = ["1.25", "1.34"];

/** `cat` echoes stdin, `exit N` ends with code N, any other command is an error of the runtime. */
const shell: Play = async (session, argv) => {
  const [name, argument = ""] = argv;
  if (name === "cat") {
    let byteCount = 0;
    for await (const bytes of session.stdin ?? []) {
      byteCount += bytes.length;
      await session.stdout?.write(bytes);
    }
    await session.stderr?.write(Buffer.from(`${byteCount} bytes`));
    return SUCCESS;
  }
  if (name === "size") {
    for await (const { width, height } of session.resizes) {
      await session.stdout?.write(Buffer.from(`${width}x${height}`));
      break;
    }
    return SUCCESS;
  }
  await session.stdout?.write(Buffer.from(`stdout of ${argv.join(" ")}`));
  await session.stderr?.write(Buffer.from("stderr"));
  return name === "exit" ? exited(Number(argument)) : internalErrorStatus("no such file");
};

function open(kubeVersion: string, plays: Plays = { exec: shell, attach: shell }): Promise<ProxyLab> {
  return ProxyLab.open(playing(plays), { kubeVersion });
}

async function exec(lab: ProxyLab, protocol: RemoteCommandProtocol, argv: readonly string[], tty = false) {
  const { ca, cert, key } = lab.access;
  const command = argv.map((one) => `command=${encodeURIComponent(one)}`).join("&");
  const url = `${lab.face.controlPlane.url}${PODS}/p/exec?stdin=1&stdout=1&${tty ? "tty=1" : "stderr=1"}&${command}`;
  const options = { stdin: true, stdout: true, stderr: !tty, tty };
  return connectRemoteCommand(url, { options, clock, tls: { ca, cert, key }, protocol }, never);
}

async function opened(...request: Parameters<typeof exec>) {
  const answer = await exec(...request);
  assert.ok(answer.outcome === "connected");
  return answer.session;
}

describe("v5 since 1.30 is translated to SPDY", () => {
  test("a command with input, a closed stdin, outputs and success", async () => {
    await using lab = await open("1.30");
    const session = await opened(lab, "v5", ["cat"]);
    assert.ok(session);
    await session.stdin?.write(Buffer.from("typed"));
    await session.stdin?.end();
    const outputs = await Promise.all([textOf(session.stdout), textOf(session.stderr)]);
    assert.deepEqual(outputs, ["typed", "5 bytes"]);
    assert.equal((await session.status).status, "Success");
    const [asked] = lab.kubelet.asked;
    assert.deepEqual([asked?.method, asked?.headers.upgrade], ["POST", "SPDY/3.1"]);
  });

  test("a terminal's size goes through", async () => {
    await using lab = await open("1.30");
    const session = await opened(lab, "v5", ["size"], true);
    await session?.resize({ width: 100, height: 40 });
    assert.equal(await textOf(session?.stdout), "100x40");
  });

  const endings: readonly [argv: string[], code: number | undefined, message: string][] = [
    [["exit", "7"], 7, "command terminated with non-zero exit code: command terminated with exit code 7"],
    [["nope"], undefined, "Internal error occurred: Internal error occurred: no such file"],
  ];
  for (const [argv, code, message] of endings) {
    test(`${argv.join(" ")} ends with ${code ?? "an error"}`, async () => {
      await using lab = await open("1.30");
      const session = await opened(lab, "v5", argv);
      assert.ok(session);
      const [stdout, , status] = await Promise.all([textOf(session.stdout), textOf(session.stderr), session.status]);
      assert.equal(stdout, `stdout of ${argv.join(" ")}`);
      assert.deepEqual([exitCodeOf(status), status.message], [code, message]);
    });
  }

  test("an unreachable or refusing kubelet is reported on the error channel", async () => {
    await using down = await open("1.30");
    await down.kubelet.close();
    await using refusing = await ProxyLab.open(
      { upgrade: (_request, socket) => void socket.end("HTTP/1.1 403 Forbidden\r\n\r\nnot you") },
      { kubeVersion: "1.30" },
    );
    const path = (lab: ProxyLab) => `https://127.0.0.1:${lab.kubelet.port}/exec/default/p/c`;
    const message = async (lab: ProxyLab): Promise<string> => {
      const session = await opened(lab, "v5", ["ls"]);
      return (await session?.status)?.message ?? "";
    };
    const refused = `dial tcp 127.0.0.1:${down.kubelet.port}: connect: connection refused`;
    const url = `${path(down)}?command=ls&error=1&input=1&output=1`;
    assert.equal(await message(down), `Internal error occurred: error sending request: Post "${url}": ${refused}`);
    assert.equal(await message(refusing), "Internal error occurred: unable to upgrade connection: not you");
  });

  test("a client that disconnects ends the kubelet's stream, and the other way round", async () => {
    const gone = deferred<void>();
    const begun = [deferred<void>(), deferred<void>()];
    let count = 0;
    const waiting: Play = async ({ signal }) => {
      begun[count++]?.resolve();
      await once(signal, "abort");
      gone.resolve();
      return SUCCESS;
    };
    await using lab = await open("1.30", { exec: waiting });
    const session = await opened(lab, "v5", ["wait"]);
    await begun[0]?.promise;
    await session?.close();
    await gone.promise;

    const other = await opened(lab, "v5", ["wait"]);
    await begun[1]?.promise;
    await lab.kubelet.close();
    const status = (await other?.status) as Status;
    assert.equal(status.status, "Failure");
  });

  test("a status received before the kubelet's connection broke is the command's result", async () => {
    const upgrade: FakeKubeletOptions["upgrade"] = async (request, socket, head) => {
      acceptSpdy(request, socket, ["v4.channel.k8s.io"]);
      let count = 0;
      for await (const stream of new SpdyConnection(socket, "server", { clock }, { head }).streams) {
        stream.accept();
        if (stream.headers["streamtype"] === "error") {
          await stream.write(Buffer.from(JSON.stringify(exited(7))));
          await stream.end();
        }
        if (++count === 4) break;
      }
      // The written bytes leave in this turn of the event loop.
      await new Promise((resolve) => setImmediate(resolve));
      socket.destroy();
    };
    await using lab = await ProxyLab.open({ upgrade }, { kubeVersion: "1.30" });
    const session = await opened(lab, "v5", ["exit", "7"]);
    assert.ok(session);
    assert.equal(exitCodeOf(await session.status), 7);
  });

  test("200 at once, each with its own bytes", async () => {
    await using lab = await open("1.30");
    const all = Array.from({ length: 200 }, async (_, i) => {
      const session = await opened(lab, "v5", ["cat"]);
      assert.ok(session);
      await session.stdin?.write(Buffer.from(`mine is ${i}`));
      await session.stdin?.end();
      assert.equal(await textOf(session.stdout), `mine is ${i}`);
      assert.equal((await session.status).status, "Success");
    });
    await Promise.all(all);
    await Promise.all([...lab.kubelet.sockets].map((socket) => once(socket, "close")));
  });
});

test("v5 before 1.30: the kubelet refuses it with an empty 403, and a client falls back to SPDY", async () => {
  await using lab = await open("1.25");
  const refused = await exec(lab, "v5", ["cat"]);
  assert.ok(refused.outcome === "refused");
  assert.deepEqual([refused.status, refused.body.toString()], [403, ""]);
  const spdy = await opened(lab, "spdy", ["exit", "3"]);
  assert.equal(await textOf(spdy.stdout), "stdout of exit 3");
  assert.equal(exitCodeOf(await spdy.status), 3);
});

for (const [kubeVersion, first] of [
  ["1.25", "spdy"],
  ["1.31", "tunnel"],
] as const) {
  test(`port-forward at ${kubeVersion}: ${first} is the first accepted protocol; connections are separate`, async () => {
    await using lab = await open(kubeVersion, {
      forward: (connection) => (connection.port === 9 ? connection.fail("nothing listens on 9") : echo(connection)),
    });
    const { ca, cert, key } = lab.access;
    const url = `${lab.face.controlPlane.url}${PODS}/p/portforward`;
    const connect = { clock, tls: { ca, cert, key } };
    if (first === "spdy") {
      const refused = await connectPortForward(url, { ...connect, protocol: "tunnel" }, never);
      assert.ok(refused.outcome === "refused");
      assert.equal(`${refused.status} ${refused.body}`, '400 query parameter "port" is required');
    }
    const answer = await connectPortForward(url, { ...connect, protocol: first }, never);
    assert.ok(answer.outcome === "connected");
    const { session } = answer;
    const [one, two, bad] = await Promise.all([session.connect(80), session.connect(81), session.connect(9)]);
    await Promise.all([one.write(Buffer.from("first")), two.write(Buffer.from("second"))]);
    await Promise.all([one.end(), two.end()]);
    assert.deepEqual(await Promise.all([textOf(one.incoming), textOf(two.incoming)]), ["80 first", "81 second"]);
    assert.equal(await bad.failure, "nothing listens on 9");
    await session.close();
    await Promise.all([...lab.kubelet.sockets].map((socket) => once(socket, "close")));
  });
}

async function echo(connection: Parameters<NonNullable<Plays["forward"]>>[0]): Promise<void> {
  await connection.write(Buffer.from(`${connection.port} `));
  for await (const bytes of connection.incoming) await connection.write(bytes);
  await connection.end();
}

for (const kubeVersion of RELEASES) {
  describe(`@kubernetes/client-node at ${kubeVersion}`, () => {
    function config({ face, access }: ProxyLab): KubeConfig {
      const base64 = (text: string) => Buffer.from(text).toString("base64");
      const kubeConfig = new KubeConfig();
      kubeConfig.loadFromClusterAndUser(
        { name: "lab", server: face.controlPlane.url, caData: base64(access.ca) } as never,
        { name: "admin", certData: base64(access.cert), keyData: base64(access.key) } as never,
      );
      return kubeConfig;
    }

    test("Exec: input, outputs, exit code", async () => {
      await using lab = await open(kubeVersion, {
        exec: async (session, argv) => {
          for await (const bytes of session.stdin ?? []) {
            await session.stdout?.write(bytes);
            break;
          }
          await session.stderr?.write(Buffer.from("warned"));
          return exited(Number(argv[1]));
        },
      });
      const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
      const status = deferred<V1Status>();
      await new Exec(config(lab)).exec(
        "default",
        "p",
        "c",
        ["exit", "3"],
        stdout,
        stderr,
        stdin,
        false,
        status.resolve,
      );
      stdin.write("typed");
      const { details } = await status.promise;
      assert.equal(details?.causes?.[0]?.message, "3");
      assert.deepEqual([String(stdout.read()), String(stderr.read())], ["typed", "warned"]);
    });

    test("attach: outputs arrive as they are written", async () => {
      await using lab = await open(kubeVersion, {
        attach: async (session) => {
          await session.stdout?.write(Buffer.from("running"));
          await once(session.signal, "abort");
          return SUCCESS;
        },
      });
      const stdout = new PassThrough();
      const socket = await new Attach(config(lab)).attach("default", "p", "c", stdout, null, null, false);
      const [bytes] = (await once(stdout, "data")) as [Buffer];
      assert.equal(bytes.toString(), "running");
      socket.close();
    });

    test("PortForward: bytes both ways", async () => {
      await using lab = await open(kubeVersion, { forward: echo });
      const [input, output] = [new PassThrough(), new PassThrough()];
      const opened = await new PortForward(config(lab)).portForward("default", "p", [80], output, null, input);
      input.write("hello");
      let seen = "";
      for await (const bytes of output) {
        seen += String(bytes);
        if (seen.includes("hello")) break;
      }
      assert.equal(seen, "80 hello");
      if (typeof opened !== "function") opened.close();
    });

    test("Log: all of it", async () => {
      await using lab = await open(kubeVersion, { log: "one\ntwo\n" });
      const output = new PassThrough();
      await new Log(config(lab)).log("default", "p", "c", output, { follow: true });
      assert.equal(await textOf(output), "one\ntwo\n");
    });
  });
}
