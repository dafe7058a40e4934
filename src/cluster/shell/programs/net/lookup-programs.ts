import { NetError } from "../../../../util/net/net-error.js";
import { deadline } from "../../net/deadline.js";
import { lookUpHost } from "../../net/resolver.js";
import { effectiveCapabilities } from "../../process/confinement.js";
import type { Self } from "../../process/process.js";
import { complain, print, usage } from "../console.js";
import { parseOptions } from "./options.js";

/** `getent hosts|ahosts NAME...`: the addresses that the container's programs find for a name. Other databases are empty. */
export async function getent(self: Self): Promise<number> {
  const [database = "", ...names] = self.argv.slice(1);
  if (!["hosts", "ahosts", "ahostsv4"].includes(database)) {
    await self.stderr.write(Buffer.from(`Unknown database: ${database}\n`), self.signal);
    return 1;
  }
  let code = 0;
  for (const name of names) {
    const found = await lookUpHost(self, name);
    if (found.length === 0) code = 2;
    await print(self, found.map((ip) => `${ip.padEnd(16)}${name}\n`).join(""));
  }
  return code;
}

const PING_OPTIONS = {
  count: "c:",
  interval: "i:",
  wait: "W:",
  deadline: "w:",
  quiet: "q",
  size: "s:",
  ipv4: "4",
  numeric: "n",
};
const DEFAULT_SIZE = 56;
const DEFAULT_WAIT_MS = 10_000;

/** `ping [-c COUNT] [-i SECONDS] [-W SECONDS] [-w SECONDS] HOST`, with busybox's output. */
export async function ping(self: Self): Promise<number> {
  const options = parseOptions(self.argv.slice(1), PING_OPTIONS);
  const [host] = options.rest;
  if (options.problem !== undefined || host === undefined) return usage(self, options.problem);
  const [ip] = await lookUpHost(self, host);
  if (ip === undefined) {
    await self.stderr.write(Buffer.from(`ping: bad address '${host}'\n`), self.signal);
    return 1;
  }
  const size = Number(options.text("size") ?? DEFAULT_SIZE) || 0;
  await print(self, `PING ${host} (${ip}): ${size} data bytes\n`);
  const { clock, user, confinement } = self.machine;
  if (!effectiveCapabilities(user.uid, confinement).has("NET_RAW")) {
    await complain(self, "permission denied (are you root?)");
    return 1;
  }
  using limit = deadline(clock, options.milliseconds("deadline"), self.signal);
  const count = Number(options.text("count") ?? Number.POSITIVE_INFINITY);
  const result: Pings = { sent: 0, times: [] };
  try {
    for (let seq = 0; seq < count; seq++) {
      if (seq > 0) await clock.sleep(options.milliseconds("interval") ?? 1_000, limit.signal);
      result.sent++;
      const ms = await pingOnce(self, ip, size, options.milliseconds("wait") ?? DEFAULT_WAIT_MS, limit.signal);
      if (ms === undefined) continue;
      result.times.push(ms);
      if (!options.has("quiet")) {
        await print(self, `${size + 8} bytes from ${ip}: seq=${seq} ttl=64 time=${ms.toFixed(3)} ms\n`);
      }
    }
  } catch (error) {
    self.signal.throwIfAborted();
    if (error instanceof NetError) {
      await self.stderr.write(Buffer.from(`ping: sendto: ${error.message}\n`), self.signal);
      return 1;
    }
    if (!limit.isOver) throw error;
  }
  await print(self, statistics(host, result));
  return result.times.length > 0 ? 0 : 1;
}

interface Pings {
  sent: number;
  /** of the answers, in ms */
  readonly times: number[];
}

/** @returns undefined without an answer @throws NetError if there is no route; the signal's reason */
async function pingOnce(
  self: Self,
  ip: string,
  size: number,
  waitMs: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { clock, network } = self.machine;
  using limit = deadline(clock, waitMs, signal);
  const startMs = clock.now();
  try {
    await network.ping(ip, Buffer.alloc(size), limit.signal);
    return clock.now() - startMs;
  } catch (error) {
    if (limit.isOver) return undefined;
    // No pod has the address, so a program notices only by its timeout.
    if (error instanceof NetError && error.code === "EHOSTUNREACH") return undefined;
    throw error;
  }
}

function statistics(host: string, { sent, times }: Pings): string {
  const loss = sent === 0 ? 0 : Math.round(((sent - times.length) / sent) * 100);
  const head = `\n--- ${host} ping statistics ---\n${sent} packets transmitted, ${times.length} packets received, ${loss}% packet loss\n`;
  if (times.length === 0) return head;
  const mean = times.reduce((sum, one) => sum + one, 0) / times.length;
  const figures = [Math.min(...times), mean, Math.max(...times)].map((one) => one.toFixed(3)).join("/");
  return `${head}round-trip min/avg/max = ${figures} ms\n`;
}
