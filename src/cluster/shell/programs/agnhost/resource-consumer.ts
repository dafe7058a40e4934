import type { Self } from "../../process/process.js";
import { BytesSource } from "../../streams.js";
import { print } from "../console.js";
import { consumeCpu, stress } from "../stress.js";
import { sendRequest } from "./dial.js";
import type { Flags } from "./flags.js";
import { bodyOf, type Exchange, listenAndServe } from "./web.js";

/** The paths, with the parameters for an amount and for the part of it that a controller sends in one request. */
const RESOURCES = {
  "/ConsumeCPU": { amount: "millicores", size: "requestSizeMillicores", verb: "consume", unit: " millicores" },
  "/ConsumeMem": { amount: "megabytes", size: "requestSizeMegabytes", verb: "consume", unit: " MB" },
  "/BumpMetric": { amount: "delta", size: "requestSizeMetrics", verb: "bump custom metric by", unit: "" },
} as const;
/** The most requests that are open at once. */
const MAX_REQUESTS = 1_000;

type Path = keyof typeof RESOURCES;

/** Answers what is wrong with a request. @returns its parameters; undefined if it was refused */
async function formOf({ request, query, path, answer }: Exchange): Promise<URLSearchParams | undefined> {
  if (request.method !== "POST") answer(400, "Bad request. Not a POST request\n");
  else if (!Object.hasOwn(RESOURCES, path)) answer(404, `unknown function: ${path}\n`);
  else return new URLSearchParams([...new URLSearchParams(await bodyOf(request)), ...query]);
  return undefined;
}

/** The values of parameters as whole numbers. Answers what is wrong with them. */
function numbersOf(form: URLSearchParams, names: readonly string[], { answer }: Exchange): number[] | undefined {
  const texts = names.map((name) => form.get(name) ?? "");
  const isGiven = !texts.includes("");
  if (isGiven && texts.every((text) => /^[-+]?\d{1,15}$/.test(text))) return texts.map(Number);
  answer(400, `${isGiven ? "incorrect" : "not given"} function argument\n`);
  return undefined;
}

/**
 * `resource-consumer`: uses CPU and memory for a time, and has metrics, as clients tell it.
 * Mirrors test/images/resource-consumer. Differs: its metrics are whole numbers.
 */
export async function resourceConsumer(self: Self, flags: Flags): Promise<number> {
  const metrics = new Map<string, number>();
  let open = 0;
  return listenAndServe(self, flags.number("port", 8080), async (exchange) => {
    const { path, answer } = exchange;
    if (path === "/Metrics" || path === "/metrics") return answer(200, metricsText(metrics));
    const form = await formOf(exchange);
    if (form === undefined) return;
    const { amount } = RESOURCES[path as Path];
    const numbers = numbersOf(form, [amount, "durationSec"], exchange);
    if (numbers === undefined) return;
    const [value = 0, seconds = 0] = numbers;
    const metric = form.get("metric") ?? "";
    if (path === "/BumpMetric" && metric === "") return answer(400, "not given function argument\n");
    if (open >= MAX_REQUESTS) return answer(503, "too many requests\n");
    open++;
    const using =
      path === "/ConsumeCPU"
        ? consumeCpu(self, value / 1000, seconds * 1000)
        : path === "/ConsumeMem"
          ? consumeMemory(self, value, seconds)
          : bump(self, metrics, metric, value, seconds);
    const end = () => {
      open--;
    };
    using.then(end, end);
    const named = path === "/BumpMetric" ? `${metric} metric\n` : "";
    answer(200, `${path.slice(1)}\n${named}${value} ${amount}\n${seconds} durationSec\n`);
  });
}

async function consumeMemory(self: Self, megabytes: number, seconds: number): Promise<void> {
  const { machine, env, cwd, pid, stderr } = self;
  const argv = ["stress", "-m", "1", "--vm-bytes", `${megabytes}M`, "--vm-hang", "0", "-t", String(seconds)];
  const streams = { stdin: new BytesSource(), stdout: stderr, stderr };
  await machine.fork(stress, { argv, env, cwd, parentPid: pid, ...streams }).exited;
}

async function bump(self: Self, metrics: Map<string, number>, name: string, by: number, seconds: number) {
  const add = (change: number) => metrics.set(name, (metrics.get(name) ?? 0) + change);
  add(by);
  await self.machine.clock.sleep(seconds * 1000, self.signal);
  add(-by);
}

function metricsText(metrics: ReadonlyMap<string, number>): string {
  const lines = [...metrics].map(
    ([name, value]) => `# HELP ${name} info message.\n# TYPE ${name} gauge\n${name} ${value.toFixed(6)}\n`,
  );
  return lines.join("");
}

/**
 * `resource-consumer-controller`: spreads what a client asks for over the pods of a Service of consumers, in requests of a
 * given size. Mirrors test/images/agnhost/resource-consumer-controller. Differs: at most 1,000 requests.
 */
export async function resourceConsumerController(self: Self, flags: Flags): Promise<number> {
  const [service, namespace] = [
    flags.text("consumer-service-name", "resource-consumer"),
    flags.text("consumer-service-namespace", "default"),
  ];
  const config = self.machine.fs.readFile("/etc/resolv.conf").toString();
  const domain = /\ssvc\.(\S+)/.exec(config)?.[1];
  if (domain === undefined) {
    await print(self, "panic: Could not find DNS suffix starting with 'svc.' substring\n");
    return 2;
  }
  const [host, port] = [`${service}.${namespace}.svc.${domain}`, flags.number("consumer-port", 8080)];
  return listenAndServe(self, flags.number("port", 8080), async (exchange) => {
    const { path, answer } = exchange;
    const form = await formOf(exchange);
    if (form === undefined) return;
    const { amount, size, verb, unit } = RESOURCES[path as Path];
    const numbers = numbersOf(form, [amount, "durationSec", size], exchange);
    if (numbers === undefined) return;
    const [total = 0, seconds = 0, each = 0] = numbers;
    if (each <= 0) return answer(400, "incorrect function argument\n");
    const count = Math.min(Math.floor(total / each), MAX_REQUESTS);
    const rest = total - Math.floor(total / each) * each;
    const parts = [...Array<number>(count).fill(each), ...(rest > 0 ? [rest] : [])];
    const send = async (part: number) => {
      const sent = new URLSearchParams({ [amount]: String(part), durationSec: String(seconds) });
      if (form.has("metric")) sent.set("metric", form.get("metric") ?? "");
      try {
        await sendRequest(self, host, port, path.slice(1), { form: sent });
        return path === "/BumpMetric"
          ? `Bumped metric ${form.get("metric")} by ${part}\n`
          : `Consumed ${part} ${amount}\n`;
      } catch (error) {
        self.signal.throwIfAborted();
        return `Failed to connect to consumer: ${(error as Error).message}\n`;
      }
    };
    const last = path === "/BumpMetric" ? "bump" : "consume";
    const rests = path === "/BumpMetric" ? `by ${rest}` : `${rest}${unit}`;
    const head = `RC manager: sending ${count} requests to ${verb} ${each}${unit} each and 1 request to ${last} ${rests}\n`;
    answer(200, head + (await Promise.all(parts.map(send))).join(""));
  });
}
