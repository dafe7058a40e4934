// `npm run bench:learn`: how long `kubelab learn` takes to show its menu on a terminal and to check a step, and an empty Node.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sayIn } from "../src/util/i18n/catalogue.js";
import { measure, median, printTable, spread } from "./measure.js";

const RUNS = 9;
const home = mkdtempSync(join(tmpdir(), "kubelab-bench-"));
const env = { XDG_STATE_HOME: home, LANG: "C.UTF-8", KUBELAB_BENCH_PLAIN: "1" };

/** Runs `argv` on a pty until it has printed `text`, and prints the ms that took. */
const ON_TERMINAL = `
import fcntl, os, pty, select, struct, sys, termios, time
text, argv = sys.argv[1].encode(), sys.argv[2:]
started = time.monotonic()
pid, main = pty.fork()
if pid == 0:
    os.execvp(argv[0], argv)
fcntl.ioctl(main, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
seen = b""
while text not in seen and time.monotonic() - started < 20:
    if select.select([main], [], [], 0.05)[0]:
        try:
            seen += os.read(main, 65536)
        except OSError:
            break
shown = (time.monotonic() - started) * 1000
os.kill(pid, 9)
os.waitpid(pid, 0)
print(shown if text in seen else "nan")
`;

async function menuMs(): Promise<number> {
  const argv = ["-c", ON_TERMINAL, sayIn("en")("menuTitle"), process.execPath, "dist/cli.js", "learn"];
  const child = spawn("python3", argv, { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...env } });
  let out = "";
  child.stdout.on("data", (chunk) => {
    out += String(chunk);
  });
  await new Promise((resolve) => child.once("close", resolve));
  const ms = Number(out);
  if (!Number.isFinite(ms)) throw new Error("the menu was not shown");
  return ms;
}

/** Runs one `kubelab learn` command as a process. `check` minus `list` is the check itself. */
async function checkMs(argv: readonly string[]): Promise<number> {
  const started = performance.now();
  const child = spawn(process.execPath, ["dist/cli.js", "learn", ...argv], {
    stdio: "ignore",
    env: { ...process.env, ...env },
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  // A failed check exits with 1, which is a measurement as well.
  if (code !== 0 && (code !== 1 || argv[0] !== "check")) throw new Error(`learn ${argv.join(" ")} ended with ${code}`);
  return performance.now() - started;
}

const times = new Map<string, number[]>();
const note = (name: string, ms: number) => times.set(name, [...(times.get(name) ?? []), ms]);
try {
  await checkMs(["start", "heartbeats", "--detach"]);
  try {
    for (let run = 0; run < RUNS; run++) {
      note("node -e 0", (await measure(["-e", "0"], env)).wallMs);
      note("kubelab learn list", await checkMs(["list"]));
      note("kubelab learn check", await checkMs(["check"]));
    }
  } finally {
    await checkMs(["stop"]);
  }
  // In alternation, so that other load on the machine affects both. The first run warms up.
  for (let run = -1; run < RUNS; run++) {
    const ms = await menuMs();
    if (run < 0) continue;
    note("the menu on a pty", ms);
    note("node -e 0", (await measure(["-e", "0"], env)).wallMs);
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
const emptyMs = times.get("node -e 0") ?? [];
const ratio = (values: readonly number[], of: (values: readonly number[]) => number) =>
  `${(of(values) / of(emptyMs)).toFixed(2)}x`;
const least = (values: readonly number[]) => Math.min(...values);
printTable([
  ["what", "median ms", "min-max ms", "of node -e 0", "by the least"],
  ...[...times].map(([name, values]) => [
    name,
    median(values).toFixed(0),
    spread(values),
    ratio(values, median),
    ratio(values, least),
  ]),
]);
