// `npm run record-terminal`: runs `kubelab bootstrap` on a terminal (util-linux's script) and draws what it printed, when it printed
// it, as docs/bootstrap.svg.
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type TerminalLine, terminalSvg } from "./terminal-svg.js";

const FILE = "docs/bootstrap.svg";
const COMMAND = ["bootstrap"];
const COLUMNS = 80;
const SLOWDOWN = 40;
const FIRST_LINE_MS = 20;

/** Runs the built program in an empty home folder and keeps each line with its time. @throws Error if it fails */
async function record(args: readonly string[]): Promise<TerminalLine[]> {
  const home = await mkdtemp(join(tmpdir(), "k-"));
  try {
    // A dumb terminal gets no spinner, whose control sequences the picture could not show.
    const env = { PATH: process.env["PATH"], HOME: home, LANG: "C.UTF-8", FORCE_COLOR: "1", TERM: "dumb" };
    const start = performance.now();
    const words = [process.execPath, resolve("dist/cli.js"), ...args].map((word) => `'${word}'`);
    const onTerminal = ["-qefc", `stty cols ${COLUMNS} rows 40; ${words.join(" ")}`, "/dev/null"];
    const child = spawn("script", onTerminal, { cwd: home, env, stdio: "pipe" });
    const chunks: TerminalLine[] = [];
    for (const stream of [child.stdout, child.stderr]) {
      stream
        .setEncoding("utf8")
        .on("data", (text: string) =>
          chunks.push({ text: text.replaceAll("\r\n", "\n").replaceAll(home, "~"), atMs: performance.now() - start }),
        );
    }
    const code = await new Promise((resolveEnd) => child.once("close", resolveEnd));
    if (code !== 0) throw new Error(`kubelab ${args.join(" ")} exited with ${code}`);
    // The wait until the first line is Node's start: it is not played.
    const startMs = (chunks[0]?.atMs ?? 0) - FIRST_LINE_MS;
    return chunks.flatMap(({ text, atMs }) =>
      text
        .trimEnd()
        .split("\n")
        .flatMap(wrapAsTerminal)
        .map((line) => ({ text: line, atMs: atMs - startMs })),
    );
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** A terminal breaks a long line at its last column. Trace lines, the only ones in colour, are already wrapped. */
function wrapAsTerminal(line: string): readonly string[] {
  return line.includes("\u001b") ? [line] : (line.match(/.{1,80}/g) ?? [""]);
}

const prompt: TerminalLine = { text: `\u001b[32m$\u001b[39m npx kubelab ${COMMAND.join(" ")}`, atMs: 0 };
const lines = [prompt, ...(await record(COMMAND))];
const title = `npx kubelab ${COMMAND.join(" ")} (played ${SLOWDOWN} times slower)`;
await writeFile(FILE, terminalSvg(lines, { title, rows: 30, slowdown: SLOWDOWN }));
process.stdout.write(`${FILE}: ${lines.length} lines\n`);
