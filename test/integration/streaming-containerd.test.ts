import assert from "node:assert/strict";
import { afterAll, beforeAll, test } from "vitest";
import { type RunningRuntime, startRuntime } from "../../src/cluster/runtime/start.js";
import type { Status } from "../../src/staging/apimachinery/api/meta.js";
import { connectPortForward } from "../../src/staging/client-go/portforward/dialer.js";
import { connectRemoteCommand, type RemoteCommandProtocol } from "../../src/staging/client-go/remotecommand/connect.js";
import { RUNTIME_SERVICE as R } from "../../src/staging/cri/services.js";
import type { ByteReader } from "../../src/staging/streaming/bytes.js";
import type {
  RemoteCommandClientSession,
  RemoteCommandOptions,
} from "../../src/staging/streaming/remote-command/session.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { SystemRandom } from "../../src/util/random.js";
import { CriDriver } from "../cluster/runtime/cri-driver.js";
import { BUSYBOX_IMAGE, startContainerd, type TestContainerd } from "../support/containerd.js";
import { suiteNeeding } from "../support/requirements.js";

const clock = new SystemClock();

/** What a client of a stream saw. */
interface Seen {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: Status;
}

async function textOf(reader: ByteReader | undefined): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of reader ?? []) parts.push(part);
  return Buffer.concat(parts).toString();
}

async function open(
  url: string,
  protocol: RemoteCommandProtocol,
  options: RemoteCommandOptions,
): Promise<RemoteCommandClientSession> {
  const signal = new AbortController().signal;
  const answer = await connectRemoteCommand(url, { options, clock, protocol }, signal);
  assert.ok(answer.outcome === "connected");
  return answer.session;
}

/** The IDs of runs and sandboxes are each runtime's own, and the test's containerd has no network of the pod's own. */
function withoutIds(text: string): string {
  return text.replace(/[0-9a-f]{64}/g, "ID").replace(/network namespace "[^"]*"/, "network namespace NS");
}

interface Session {
  readonly cmd: readonly string[];
  readonly typed?: string;
  /** whether the client closes its input after that */
  readonly ends?: boolean;
  readonly tty?: boolean;
}

const EXECS: readonly Session[] = [
  { cmd: ["echo", "hi"] },
  { cmd: ["sh", "-c", "echo out; echo err >&2; exit 3"] },
  { cmd: ["sh", "-c", "kill -9 $$"] },
  { cmd: ["sh", "-c", "kill -TERM $$"] },
  { cmd: ["false"] },
  { cmd: ["nosuch"] },
  { cmd: ["/no/such"] },
  { cmd: ["/tmp"] },
  { cmd: ["sh", "-c", "nosuch"] },
  { cmd: ["sh", "-c", "cat; echo end"], typed: "one\ntwo\n", ends: true },
  { cmd: ["cat"] },
  { cmd: ["sh", "-c", "echo to a terminal; exit 7"], tty: true },
  { cmd: ["sh", "-c", "echo $TERM; test -t 0 && echo terminal"], tty: true },
  { cmd: ["sh", "-c", "read x; echo got $x"], typed: "some\x7fthing\r", tty: true },
  { cmd: ["cat"], typed: "a line\r\x04", tty: true },
  { cmd: ["sleep", "100"], typed: "\x03", tty: true },
  { cmd: ["sh", "-c", "(sleep 1; echo late) & echo early"] },
  { cmd: ["sh", "-c", "(sleep 100; echo late) & echo early"], tty: true },
  { cmd: ["echo", "x".repeat(200_000)] },
  { cmd: ["echo", "x".repeat(131_072)] },
  { cmd: ["sh", "-c", `echo ${"x ".repeat(60_000)} | wc -c`] },
  { cmd: ["echo", ...Array.from({ length: 8 }, () => "x".repeat(131_000))] },
];

suiteNeeding(
  ["containerd", "busybox-static", "root"],
  "streams of the embedded runtime and of a real containerd",
  () => {
    let containerd: TestContainerd;
    let theirs: CriDriver;
    let runtime: RunningRuntime;
    let ours: CriDriver;
    beforeAll(async () => {
      containerd = await startContainerd();
      theirs = new CriDriver(containerd.endpoint, BUSYBOX_IMAGE, true);
      const deps = { clock, random: new SystemRandom(), trace: new Trace(clock) };
      runtime = await startRuntime({ ...deps, images: ["busybox"], pullMs: 0 });
      ours = new CriDriver(runtime.endpoint, "busybox");
    });
    afterAll(async () => {
      await ours?.close();
      await runtime?.close();
      await theirs?.close();
      await containerd?.stop();
    });

    async function exec(
      cri: CriDriver,
      containerId: string,
      how: Session,
      protocol: RemoteCommandProtocol,
    ): Promise<Seen> {
      const { cmd, typed, ends = false, tty = false } = how;
      const options = { stdin: typed !== undefined, stdout: true, stderr: !tty, tty };
      const { url } = await cri.ok(R.exec, { containerId, cmd, ...options });
      await using session = await open(url, protocol, options);
      if (typed !== undefined) {
        // A terminal's keys come when the command is there to be reached by them.
        if (tty) await clock.sleep(500);
        await session.stdin?.write(Buffer.from(typed));
        if (ends) await session.stdin?.end();
      }
      const [stdout, stderr, status] = await Promise.all([
        textOf(session.stdout),
        textOf(session.stderr),
        session.status,
      ]);
      return { stdout, stderr, status: JSON.parse(withoutIds(JSON.stringify(status))) };
    }

    for (const how of EXECS) {
      const name = `${how.cmd.join(" ").slice(0, 60)}${how.tty === true ? " on a terminal" : ""}`;
      test(`exec ${name}: the same from both`, async () => {
        const [our, their] = await Promise.all([
          exec(ours, await ours.run(), how, "spdy"),
          exec(theirs, await theirs.run(), how, "spdy"),
        ]);
        assert.equal(our.stderr, their.stderr);
        assert.ok(our.stdout === their.stdout, `${our.stdout.slice(0, 200)} and ${their.stdout.slice(0, 200)}`);
        assert.ok(
          JSON.stringify(our.status) === JSON.stringify(their.status),
          JSON.stringify(their.status).slice(-300),
        );
      });
    }

    for (const config of [
      { command: ["sh", "-c", "sleep 1; echo out; echo err >&2; exit 4"] },
      { command: ["sh", "-c", "cat; echo end"], stdin: true, stdinOnce: true },
      { command: ["sh", "-c", "read x; echo got $x"], stdin: true, tty: true },
    ]) {
      test(`attach to ${config.command.join(" ")}: the same from both`, async () => {
        const attach = async (cri: CriDriver): Promise<Seen> => {
          const containerId = await cri.run(config);
          const tty = config.tty === true;
          const options = { stdin: config.stdin === true, stdout: true, stderr: !tty, tty };
          const { url } = await cri.ok(R.attach, { containerId, ...options });
          await using session = await open(url, "spdy", options);
          await session.stdin?.write(Buffer.from(tty ? "some\x7fthing\r" : "one\n"));
          if (!tty) await session.stdin?.end();
          const [stdout, stderr, status] = await Promise.all([
            textOf(session.stdout),
            textOf(session.stderr),
            session.status,
          ]);
          return { stdout, stderr, status };
        };
        const [our, their] = await Promise.all([attach(ours), attach(theirs)]);
        assert.deepEqual(our, their);
      });
    }

    test("port-forward to a port without a listener: the same message", async () => {
      const words = async (cri: CriDriver) => {
        const { sandboxId } = await cri.runSandbox();
        const { url } = await cri.ok(R.portForward, { podSandboxId: sandboxId, port: [1] });
        const signal = new AbortController().signal;
        const answer = await connectPortForward(url, { clock, protocol: "spdy" }, signal);
        assert.ok(answer.outcome === "connected");
        await using session = answer.session;
        const connection = await session.connect(1);
        return withoutIds((await connection.failure) ?? "");
      };
      assert.equal(await words(ours), await words(theirs));
    });

    const TERMINAL = { stdin: true, stderr: false, tty: true };
    const LEFT: readonly (readonly [readonly string[], Partial<RemoteCommandOptions>])[] = [
      [["sleep", "77"], {}],
      [["sleep", "88"], { stdin: true, stderr: false, tty: true }],
      [["yes"], {}],
      [["cat"], { stdin: true }],
      [["sh", "-c", "while :; do :; done"], {}],
      [["sh", "-c", "trap '' PIPE HUP; while :; do echo deaf; sleep 0.1; done"], {}],
      [["sh", "-c", "while :; do :; done"], TERMINAL],
      [["cat"], TERMINAL],
      [["sh", "-i"], TERMINAL],
    ];

    for (const [cmd, more] of LEFT) {
      test(`what remains of ${cmd.join(" ")}${more.tty === true ? " on a terminal" : ""} after the client leaves: the same`, async () => {
        const isLeft = async (cri: CriDriver) => {
          const containerId = await cri.run();
          const options = { stdin: false, stdout: true, stderr: true, tty: false, ...more };
          const { url } = await cri.ok(R.exec, { containerId, cmd, ...options });
          const session = await open(url, "v4", options);
          await clock.sleep(500);
          await session.close();
          await clock.sleep(1_000);
          // The bracket keeps the pattern from matching the shells and the grep that it stands in,
          // of which `ps` sees more or fewer, as it happens.
          const [first = "", ...rest] = cmd.join(" ");
          const find = `ps | grep -c '[${first}]${rest.join("")}'`;
          const { stdout } = await cri.ok(R.execSync, { containerId, cmd: ["sh", "-c", find] });
          return Buffer.from(stdout).toString().trim();
        };
        const [our, their] = await Promise.all([isLeft(ours), isLeft(theirs)]);
        assert.ok(our !== "" && their !== "");
        assert.equal(our, their);
      });
    }
  },
);
