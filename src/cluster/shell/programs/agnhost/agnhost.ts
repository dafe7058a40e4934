import type { Program, Self } from "../../process/process.js";
import { SIGHUP, SIGINT, SIGTERM } from "../../process/signals.js";
import { complain, print } from "../console.js";
import { untilSignal } from "../system.js";
import { auditProxy } from "./audit-proxy.js";
import { crdConversionWebhook } from "./crd-conversion-webhook.js";
import { dialTcp, GoDialError } from "./dial.js";
import { durationMs, type Flags, parseFlags } from "./flags.js";
import { klog } from "./go-log.js";
import { grpcHealthChecking } from "./grpc-health-checking.js";
import { guestbook } from "./guestbook.js";
import { inClusterClient } from "./inclusterclient.js";
import { mounttest } from "./mounttest.js";
import { net } from "./net.js";
import { netexec } from "./netexec.js";
import { noSnatTest, noSnatTestProxy } from "./no-snat-test.js";
import { testIssuerDiscovery } from "./openid-metadata.js";
import { resourceConsumer, resourceConsumerController } from "./resource-consumer.js";
import {
  fakeGitServer,
  liveness,
  nettest,
  porter,
  portForwardTester,
  serveHostname,
  testWebserver,
} from "./servers.js";
import { webhook } from "./webhook.js";

type Subcommand = (self: Self, flags: Flags, args: readonly string[]) => Promise<number>;

const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  "audit-proxy": auditProxy,
  connect,
  "crd-conversion-webhook": crdConversionWebhook,
  "dns-server-list": (self) => resolvConf(self, "nameserver"),
  "dns-suffix": (self) => resolvConf(self, "search"),
  "entrypoint-tester": entrypointTester,
  "etc-hosts": etcHosts,
  "fake-gitserver": fakeGitServer,
  "grpc-health-checking": grpcHealthChecking,
  guestbook,
  inclusterclient: inClusterClient,
  liveness,
  "logs-generator": logsGenerator,
  mounttest,
  net,
  netexec,
  nettest,
  "no-snat-test": noSnatTest,
  "no-snat-test-proxy": noSnatTestProxy,
  pause,
  porter,
  "port-forward-tester": portForwardTester,
  "resource-consumer": resourceConsumer,
  "resource-consumer-controller": resourceConsumerController,
  "serve-hostname": serveHostname,
  "test-service-account-issuer-discovery": testIssuerDiscovery,
  "test-webserver": testWebserver,
  webhook,
};

/** One-letter flags of all subcommands. */
const SHORTHANDS = { t: "log-lines-total", d: "run-duration" } as const;
/** Flags without a separate value. */
const BOOLEANS = ["json-response", "tcp", "udp", "http", "close", "break_on_expected_content", "help"];

/**
 * `agnhost SUBCOMMAND`: the program of the image that Kubernetes' end-to-end tests run in most of their pods.
 *
 * Mirrors test/images/agnhost. Differs: only the subcommands that need nothing but the pods' network and the API server.
 */
export const agnhost: Program = async (self) => {
  const [name = "", ...args] = self.argv.slice(1);
  const subcommand = Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name] : undefined;
  if (subcommand !== undefined) {
    const ended = endedByGo(self);
    return Promise.race([subcommand(self, parseFlags(args, SHORTHANDS, BOOLEANS), args), ended]);
  }
  if (name === "--version") {
    await print(self, "app version 2.25\n");
    return 0;
  }
  if (name === "" || name === "help" || name === "--help") {
    await print(self, `Usage:\n  app [command]\n\nAvailable Commands:\n  ${Object.keys(SUBCOMMANDS).join("\n  ")}\n`);
    return 0;
  }
  await complain(self, `Error: unknown command ${JSON.stringify(name)} for "app"`);
  return 1;
};

/**
 * Resolves with 2 at a signal that the subcommand does not handle itself: a Go program that cannot die from it, because it
 * is PID 1, exits so. Mirrors dieFromSignal of Go's runtime.
 */
function endedByGo(self: Self): Promise<number> {
  return new Promise((resolve) => {
    if (self.pid !== 1) return;
    for (const signal of [SIGHUP, SIGINT, SIGTERM]) self.onSignal(signal, () => resolve(2));
  });
}

async function entrypointTester(self: Self): Promise<number> {
  await print(self, `[${self.argv.join(" ")}]\n`);
  return 0;
}

async function resolvConf(self: Self, keyword: string): Promise<number> {
  const lines = self.machine.fs.readFile("/etc/resolv.conf").toString().split("\n");
  const words = lines.map((line) => line.trim().split(/\s+/)).filter(([first]) => first === keyword);
  await print(self, `${words.flatMap((line) => line.slice(1)).join(",")}\n`);
  return 0;
}

async function etcHosts(self: Self): Promise<number> {
  await print(self, `${self.machine.fs.readFile("/etc/hosts").toString()}\n`);
  return 0;
}

async function pause(self: Self): Promise<number> {
  await print(self, "Paused\n");
  return (await untilSignal(self, SIGTERM, SIGINT)) === SIGINT ? 1 : 2;
}

/** Mirrors connectTCP in test/images/agnhost/connect/connect.go. */
async function connect(self: Self, flags: Flags, args: readonly string[]): Promise<number> {
  const target = args.find((arg) => !arg.startsWith("-")) ?? "";
  const match = /^\[?(.*?)\]?:(\d+)$/.exec(target);
  const fail = async (text: string) => {
    await self.stderr.write(Buffer.from(`${text}\n`), self.signal);
    return 1;
  };
  if (match === null) return fail(`UNKNOWN: address ${target}: missing port in address`);
  try {
    const timeoutMs = durationMs(flags.text("timeout", "0")) || undefined;
    const { incoming, outgoing } = await dialTcp(self, match[1] ?? "", Number(match[2]), timeoutMs);
    outgoing.release();
    incoming.release();
    return 0;
  } catch (error) {
    if (!(error instanceof GoDialError)) throw error;
    if (error.kind === "dns") return fail(`DNS: ${error.message}`);
    return fail(error.kind === "other" ? `OTHER: ${error.message}` : error.kind.toUpperCase());
  }
}

const METHODS = ["GET", "POST", "PUT"] as const;
const NAMESPACES = ["kube-system", "default", "ns"] as const;

/** `logs-generator -t LINES -d DURATION`: lines of random requests at an even pace. */
async function logsGenerator(self: Self, flags: Flags): Promise<number> {
  const { clock, random } = self.machine;
  const total = flags.number("log-lines-total", 0);
  const runMs = durationMs(flags.text("run-duration")) ?? 0;
  if (total <= 0 || runMs <= 0) {
    await klog(
      self,
      "logs_generator.go:68",
      total <= 0 ? `Invalid total number of lines: ${total}` : "Invalid duration",
    );
    return 255;
  }
  const below = (count: number) => random.bytes(4).readUInt32LE() % count;
  for (let id = 0; id < total; id++) {
    const pod = random
      .bytes(2)
      .toString("hex")
      .slice(0, 3 + below(2));
    const url = `/api/v1/namespaces/${NAMESPACES[below(NAMESPACES.length)]}/pods/${pod}`;
    await klog(self, "logs_generator.go:76", `${id} ${METHODS[below(METHODS.length)]} ${url} ${200 + below(400)}`);
    await clock.sleep(runMs / total, self.signal);
  }
  return 0;
}
