import { baseName } from "../fs/paths.js";
import type { Self } from "../process/process.js";
import { SIGINT, SIGTERM } from "../process/signals.js";
import { complain, print } from "./console.js";
import { untilSignal } from "./system.js";

/** Programs that stand for those of images that kubelab does not have. */

/**
 * A component of the cluster that kubelab runs outside of containers: the container represents it in the list of pods.
 * Prints a note about it, and ends on a signal.
 */
export async function component(self: Self): Promise<number> {
  const name = self.argv[0]?.split("/").at(-1);
  const where = self.env["KUBELAB_RUNS_IN"] ?? "another process";
  await print(
    self,
    `${name} of this cluster runs in ${where}, not in this container: it continues when the container ends.\n`,
  );
  await untilSignal(self, SIGTERM, SIGINT);
  return 0;
}

const INTERPRETERS = /^(python|perl|node|ruby|php|java|julia|lua)[\d.]*$/;
/** Arguments of work that ends: a script of one line, and a version. */
const ENDING = /^(-c|-e|-v|-V|-version|--eval|--version|--help)$/;
const NOT_FOUND = 127;

/**
 * Stands for a program that kubelab does not have, such as an image's own: reports that it runs, and ends on a signal. What a
 * client runs in a container, and what an interpreter does in one line, would end by itself: it fails instead.
 */
export async function app(self: Self): Promise<number> {
  const [path = "", ...args] = self.argv;
  const name = baseName(path);
  if (!isOfContainer(self) || (INTERPRETERS.test(name) && ENDING.test(args[0] ?? ""))) {
    await complain(self, `kubelab has no ${name}, and cannot run this`);
    return NOT_FOUND;
  }
  const text =
    path === "/image-program"
      ? `${self.env["KUBELAB_IMAGE"] ?? "app"} started as process ${self.pid} on ${self.machine.uts.hostname}`
      : `kubelab has no ${path}: this process only waits for a signal`;
  await print(self, `${text}\n`);
  const signal = await untilSignal(self, SIGTERM, SIGINT);
  await print(self, `got signal ${signal}, ending\n`);
  return 0;
}

/** Whether a process comes from the container's own command, not from an exec. */
function isOfContainer({ machine: { own }, pid }: Self): boolean {
  const [first] = own;
  const find = (wanted: number) => [...own].find((one) => one.pid === wanted);
  for (let one = find(pid); one !== undefined; one = find(one.parentPid)) if (one === first) return true;
  return false;
}

/**
 * The interpreter of a language that kubelab does not have. Without a program it reads its input to the end; it runs nothing of it.
 */
export async function repl(self: Self): Promise<number> {
  if (self.argv.slice(1).some((word) => word !== "-i")) return app(self);
  const name = baseName(self.argv[0] ?? "");
  if (self.stdin.isTerminal) await print(self, `kubelab has no ${name}: Ctrl-D ends it\n`);
  for (;;) {
    const bytes = await self.stdin.read(self.signal);
    if (bytes === undefined) return 0;
    if (bytes.toString().trim() !== "") await complain(self, "kubelab does not run this language");
  }
}

/** `kubectl` of an image. */
export async function kubectl(self: Self): Promise<number> {
  await complain(self, "kubelab runs no kubectl in containers: run it on your machine");
  return 1;
}

/** More digits would keep the processor from the other containers. */
const MAX_DIGITS = 10_000;

/** `perl -Mbignum=bpi -wle 'print bpi(2000)'`, the work of the documentation's Job. Waits for a signal with other scripts. */
export async function perl(self: Self): Promise<number> {
  if (self.argv[1] === "-de0" && self.argv.length === 2) return repl({ ...self, argv: ["perl"] });
  const digits = Number(/^\s*print\s+bpi\((\d+)\);?\s*$/.exec(self.argv.at(-1) ?? "")?.[1]);
  if (!(digits >= 2 && digits <= MAX_DIGITS)) return app(self);
  await print(self, `${pi(digits)}\n`);
  return 0;
}

/** The first digits of pi, rounded: Newton's series of the arcsine of 1/2, with integers. */
function pi(digits: number): string {
  const guard = 10n ** 10n;
  let term = 3n * 10n ** BigInt(digits - 1) * guard;
  let sum = 0n;
  for (let odd = 1n; term > 0n; odd += 2n) {
    sum += term / odd;
    term = (term * odd) / (4n * (odd + 1n));
  }
  const text = String((sum + guard / 2n) / guard);
  return `${text[0]}.${text.slice(1)}`;
}

/** `etcd --listen-client-urls http://0.0.0.0:2379`: its gRPC health service, without a store. Otherwise the cluster's own etcd. */
export async function etcd(self: Self): Promise<number> {
  const [{ Flags, parseFlags }, { grpcHealthChecking }] = await Promise.all([
    import("./agnhost/flags.js"),
    import("./agnhost/grpc-health-checking.js"),
  ]);
  const urls = parseFlags(self.argv.slice(1), {}, []).text("listen-client-urls");
  const port = /^http:\/\/[^,]*:(\d+)/.exec(urls)?.[1];
  if (port === undefined) return component(self);
  const flags = { port, "http-port": "2381" };
  return grpcHealthChecking(self, new Flags(new Map(Object.entries(flags))));
}
