import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** The lab that README shows; its values are chosen by the seed, its predictions are wrong on purpose. */
const LAB = "lease-name";
const SEED = "1";
const ANSWERS = "create: created\ntwin: renamed\n";

const BEGIN = "<!-- recorded by `npm run record-session` -->";
const END = "<!-- end of the recording -->";
/** What comes then is for who plays it. */
const AFTER = /\nStep 4 of [\s\S]*/;
/** Of what a command prints, so many lines are shown. */
const MOST_LINES = 5;

/** Plays the lab by the built program, and gives what it printed, shortened, without what differs from run to run. */
export async function recordSession(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "kubelab-record-"));
  try {
    await writeFile(join(home, "answers.yaml"), ANSWERS);
    const words = ["learn", "start", LAB, "--yes", "--answers", "answers.yaml", "--seed", SEED, "--speed", "25"];
    const text = await run([resolve("dist/cli.js"), ...words], home);
    return shortened(normalized(text));
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

async function run(args: readonly string[], home: string): Promise<string> {
  const env = { PATH: process.env["PATH"], HOME: home, XDG_STATE_HOME: join(home, "state"), LANG: "C.UTF-8" };
  const child = spawn(process.execPath, args, { cwd: home, env, stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  const code = await new Promise((resolveEnd) => child.once("close", resolveEnd));
  if (code !== 0) throw new Error(`${LAB} ended with ${code}\n${text}`);
  return text;
}

function normalized(text: string): string {
  return text
    .replace(/\/\S*kubelab-lab-\w+-\w+/g, "/tmp/kubelab-lab")
    .replace(/127\.0\.0\.1:\d+/g, "127.0.0.1:6443")
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "2026-01-01T00:00:00Z")
    .replace(/^ +\d+\.\d{3} (?=user|kubelet|apiserver|controller|runtime)/gm, "  0.000 ");
}

/** The introduction's ways to other terminals, and long outputs, are left out. */
function shortened(text: string): string {
  const blocks = text.replace(/\nTo be where the lab is[^\n]*\n(?: {4}[^\n]*\n)+/, "\n").split(/(?=^\$ )/m);
  return blocks
    .map((block) => {
      if (!block.startsWith("$ ")) return block;
      const end = block.search(/\n\n|\n[✓✗] /);
      const [output, after] = end < 0 ? [block, ""] : [block.slice(0, end), block.slice(end)];
      const lines = output.split("\n");
      const shown = lines.length <= MOST_LINES + 2 ? lines : [...lines.slice(0, MOST_LINES + 1), "  ..."];
      return `${shown.join("\n")}${after}`;
    })
    .join("")
    .replace(/\n{3,}/g, "\n\n")
    .replace(AFTER, "\n...\n")
    .trim();
}

/** README with another recording. @throws Error where the marks are missing */
export function withSession(readme: string, session: string): string {
  const [from, to] = [readme.indexOf(BEGIN), readme.indexOf(END)];
  if (from < 0 || to < from) throw new Error("README has no place for the recording");
  const command = `$ npx kubelab learn start ${LAB}`;
  return `${readme.slice(0, from + BEGIN.length)}\n\`\`\`text\n${command}\n${session}\n\`\`\`\n${readme.slice(to)}`;
}

/** The recording that README has. */
export function sessionIn(readme: string): string {
  return readme.slice(readme.indexOf(BEGIN), readme.indexOf(END));
}

/** What has to be the same in every recording: titles of steps, commands, verdicts. */
export function structureOf(session: string): readonly string[] {
  return session.split("\n").filter((line) => /^(Lab |Step \d|\$ |[✓✗] )/.test(line) && !line.startsWith("$ npx "));
}
