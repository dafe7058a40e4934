import { goKind } from "../../../../staging/apimachinery/scheme/go-text.js";
import { parseJson } from "../../../../staging/apimachinery/scheme/json-syntax.js";
import { messageOf } from "../../../../util/errors.js";
import { isRecord } from "../../../../util/records.js";
import { deadline } from "../../net/deadline.js";
import { bindErrorText, listenTcp } from "../../net/listen.js";
import { ANY, type Connection } from "../../process/ports.js";
import type { Self } from "../../process/process.js";
import { SIGTERM } from "../../process/signals.js";
import { print } from "../console.js";
import { untilKilled } from "../system.js";
import { dialTcp } from "./dial.js";
import type { Flags } from "./flags.js";
import { goLog } from "./go-log.js";
import { bodyOf, type Exchange, listenAndServe } from "./web.js";

type Options = Readonly<Record<string, string | number | boolean>>;
/** Logs a line of a test with its place in the source. */
type Log = (line: number, text: string) => void;

/** A network test: its options with their defaults, and what it does with them. Throws an Error with Go's text. */
interface Runner {
  readonly options: Options;
  run(self: Self, options: Options, log: Log): Promise<void>;
}

const RUNNERS: Readonly<Record<string, Runner>> = {
  "nat-closewait-client": {
    options: { RemoteAddr: "", TimeoutSeconds: 0, PostFinTimeoutSeconds: 0, LeakConnection: false },
    run: closeWaitClient,
  },
  "nat-closewait-server": { options: { LocalAddr: "", PostFinTimeoutSeconds: 0 }, run: closeWaitServer },
};

/**
 * `net --runner NAME --options JSON` or `net --serve :PORT`: one side of a TCP connection that its server closes by half.
 *
 * Mirrors test/images/agnhost/net. Differs: its log of a request has the method and the path only.
 */
export async function net(self: Self, flags: Flags): Promise<number> {
  const [runner, serve] = [flags.text("runner"), flags.text("serve")];
  if (runner === "" && serve === "") {
    await goLog(self, "Must set either --runner or --serve, see --help");
    return 1;
  }
  const ended = serve === "" ? runOnce(self, runner, flags.text("options")) : runOnRequest(self, serve);
  return Promise.race([ended, shutdown(self, flags.number("delay-shutdown", 0))]);
}

async function shutdown(self: Self, seconds: number): Promise<number> {
  if (seconds <= 0) return untilKilled(self);
  await new Promise<void>((resolve) => self.onSignal(SIGTERM, () => resolve()));
  await goLog(self, `main.go:99: Sleeping ${seconds} seconds before terminating...`);
  await self.machine.clock.sleep(seconds * 1000, self.signal);
  return 0;
}

async function runOnce(self: Self, name: string, json: string): Promise<number> {
  const { output, problem } = await execute(self, name, json);
  if (problem !== undefined) await goLog(self, `main.go:113: Error: ${problem}`);
  await print(self, `output:\n\n${output}`);
  return problem === undefined ? 0 : 1;
}

async function runOnRequest(self: Self, address: string): Promise<number> {
  await goLog(self, `main.go:119: Running server on ${address}`);
  return listenAndServe(self, Number(address.split(":").at(-1)), async ({ request, path, answer }: Exchange) => {
    if (!path.startsWith("/run/")) return answer(404, "404 page not found\n");
    await goLog(self, `main.go:153: handleRunRequest ${request.method} ${path}`);
    const parts = path.split("/");
    if (parts.length !== 3) return answer(400, `invalid request to run: [${parts.join(" ")}]\n`);
    const json = Buffer.from(await bodyOf(request), "latin1").toString();
    const { output, problem } = await execute(self, parts[2] ?? "", json);
    if (problem === undefined) return answer(200, `ok\noutput:\n\n${output}`);
    answer(500, `Error from runner: ${problem}\noutput:\n\n${output}\n`);
  });
}

/** Runs a test. @returns what it logged, and why it failed */
async function execute(self: Self, name: string, json: string): Promise<{ output: string; problem?: string }> {
  const runner = Object.hasOwn(RUNNERS, name) ? RUNNERS[name] : undefined;
  if (runner === undefined) return { output: "", problem: "Invalid runner: '<nil>', see --help" };
  let output = "";
  try {
    const options = parseOptions(json, runner.options);
    const fields = Object.entries(options).map(([field, value]) => `${field}:${value}`);
    await goLog(self, `main.go:140: Options: &{${fields.join(" ")}}`);
    await runner.run(self, options, (line, text) => {
      output += `# closewait.go:${line}: ${text}\n`;
    });
    return { output };
  } catch (error) {
    self.signal.throwIfAborted();
    return { output, problem: messageOf(error) };
  }
}

/** @throws Error for a text that is not an object with options of the right types */
function parseOptions(json: string, defaults: Options): Options {
  const wrong = (what: string) => new Error(`Invalid options JSON: ${what}`);
  const given = parseJson(json, wrong);
  if (!isRecord(given)) throw wrong(`json: cannot unmarshal ${goKind(given)} into Go value`);
  const options: Record<string, string | number | boolean> = { ...defaults };
  for (const [name, standard] of Object.entries(defaults)) {
    const value = given[name] ?? standard;
    const isMeant = typeof value === typeof standard && (typeof value !== "number" || Number.isInteger(value));
    if (!isMeant) throw wrong(`json: cannot unmarshal ${goKind(value)} into Go struct field ${name}`);
    options[name] = value as typeof standard;
  }
  return options;
}

function splitAddress(address: unknown): [host: string, port: number] {
  const [, host = "", port] = /^\[?(.*?)\]?:(\d+)$/.exec(String(address)) ?? [];
  if (port === undefined) throw new Error(`address ${address}: missing port in address`);
  return [host, Number(port)];
}

const values = (options: Options) => `&{${Object.values(options).join(" ")}}`;

/** Accepts one connection, and closes its own direction: the client is then in CLOSE_WAIT. */
async function closeWaitServer(self: Self, options: Options, log: Log): Promise<void> {
  log(75, `Run ${values(options)}`);
  const [host, port] = splitAddress(options["LocalAddr"]);
  const address = `${host}:${port}`;
  const { incoming, outgoing } = await new Promise<Connection>((resolve, reject) => {
    const listening = listenTcp(
      self,
      port,
      (connection) => {
        if (typeof listening !== "string") listening.close();
        resolve(connection);
      },
      host || ANY,
    );
    if (typeof listening === "string")
      return reject(new Error(`listen tcp ${address}: bind: ${bindErrorText(listening).toLowerCase()}`));
    log(88, `Server listening on ${address}`);
    untilKilled(self).catch(reject);
  });
  log(96, "Client connected");
  outgoing.release();
  const waitSeconds = Number(options["PostFinTimeoutSeconds"]);
  log(105, `Server sent FIN, waiting ${waitSeconds} seconds`);
  await self.machine.clock.sleep(waitSeconds * 1000, self.signal);
  incoming.release();
  log(110, "Done");
}

/** Connects, waits for the end of what the server sends, and keeps the connection open for a while. */
async function closeWaitClient(self: Self, options: Options, log: Log): Promise<void> {
  const { clock } = self.machine;
  log(151, `Run ${values(options)}`);
  const [host, port] = splitAddress(options["RemoteAddr"]);
  const { incoming, outgoing, local, peer } = await dialTcp(self, host || "127.0.0.1", port, undefined);
  log(166, "Connected to server");
  try {
    const timeoutMs = Number(options["TimeoutSeconds"]) * 1000;
    using limit = deadline(clock, timeoutMs > 0 ? timeoutMs : undefined, self.signal);
    const bytes = await incoming.read(limit.signal, 1).catch((error: unknown) => {
      if (!limit.isOver) throw error;
      throw new Error(`read tcp ${local?.ip ?? "127.0.0.1"}:${local?.port ?? 0}->${peer.ip}:${peer.port}: i/o timeout`);
    });
    if (bytes !== undefined) throw new Error("Got data but expected EOF");
    const waitSeconds = Number(options["PostFinTimeoutSeconds"]);
    log(184, `Server has half-closed the connection, waiting ${waitSeconds} seconds`);
    if (options["LeakConnection"] === true) log(188, "Leaking client connection (assigning to global variable)");
    await clock.sleep(waitSeconds * 1000, self.signal);
    log(195, "Done");
  } finally {
    if (options["LeakConnection"] !== true) {
      outgoing.release();
      incoming.release();
    }
  }
}
