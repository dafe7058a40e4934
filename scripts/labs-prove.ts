// `npm run labs:prove [-- ID ...] [--folder labs] [--seed N] [--without-kubectl] [--evidence]`: every lab runs by itself on the embedded cluster.
// `--evidence` prints what a learner sees after each verdict and answer.

import { mkdtemp, rm } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { parseArgs } from "node:util";
import { Chalk } from "chalk";
import { CliSession } from "../src/commands/cli/session.js";
import { LabRenderer } from "../src/commands/learn/play/render.js";
import { PROGRAM } from "../src/commands/main.js";
import { isOnPath } from "../src/lab/labs/environment/programs.js";
import { compileLabs } from "../src/lab/labs/format/compile.js";
import { labsAtOnce, proveOnEmbedded } from "../src/lab/labs/prove/prove-embedded.js";
import type { LabMessage } from "../src/lab/labs/session/message.js";
import { sayIn } from "../src/util/i18n/catalogue.js";
import { LANGUAGES } from "../src/util/i18n/language.js";
import { SystemRandom } from "../src/util/random.js";

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    folder: { type: "string", default: "labs" },
    "without-kubectl": { type: "boolean", default: false },
    evidence: { type: "boolean", default: false },
    seed: { type: "string", default: String(Math.floor(Math.random() * 1_000_000)) },
  },
});

/** Messages that a verdict consists of. */
const VERDICTS = /^(answer|verdict|evidence|look|table)$/;
const PLAIN = { chalk: new Chalk({ level: 0 }), width: () => 80, say: sayIn("en"), unicode: true };

const compiled = await compileLabs(flags.folder);
for (const { file, line, message } of compiled.flatMap(({ problems }) => problems)) {
  process.stdout.write(`${file}${line === undefined ? "" : `:${line}`}: ${message}\n`);
  process.exitCode = 1;
}
const labs = compiled.flatMap(({ lab }) => (lab === undefined ? [] : [lab]));
const chosen = positionals.length === 0 ? labs : labs.filter(({ definition }) => positionals.includes(definition.id));
if (chosen.length === 0) throw new Error(`no such lab; there are ${labs.map((lab) => lab.definition.id).join(", ")}`);

// What a lab keeps running ends with it, also when somebody has no patience.
const interrupted = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => interrupted.abort());
const folder = await mkdtemp(join(tmpdir(), "kubelab-prove-"));
const queue = chosen.filter(({ definition }) => {
  const missing = definition.needs.filter((program) => !isThere(program));
  if (missing.length > 0) process.stdout.write(`skip          ${definition.id}: no ${missing.join(", ")} here\n`);
  return missing.length === 0;
});
const startMs = performance.now();
try {
  await Promise.all(Array.from({ length: labsAtOnce(loadavg()[0] ?? 0, cpus().length) }, worker));
} finally {
  await rm(folder, { recursive: true, force: true });
}
process.stdout.write(
  `${chosen.length} labs, with texts in ${LANGUAGES.join(" and ")}, in ${((performance.now() - startMs) / 1000).toFixed(1)} s, seed ${flags.seed}\n`,
);

function isThere(program: string): boolean {
  return isOnPath(program, process.env) && !(program === "kubectl" && flags["without-kubectl"]);
}

async function worker(): Promise<void> {
  for (let lab = queue.shift(); lab !== undefined; lab = queue.shift()) {
    const { id } = lab.definition;
    const context = new CliSession(
      {
        env: { ...process.env, HOME: folder, XDG_STATE_HOME: join(folder, id, "state") },
        cwd: folder,
        streams: { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() },
        random: new SystemRandom(),
        self: [process.execPath, join(process.cwd(), "dist/cli.js")],
        signal: interrupted.signal,
      },
      PROGRAM,
    );
    const begunMs = performance.now();
    const shown: string[] = [];
    const renderer = new LabRenderer(PLAIN, { write: (text: string) => shown.push(text) });
    const onMessage = (message: LabMessage) => {
      if (message.kind === "done" && flags.evidence) shown.push(`--- ${id} ${message.step}\n`);
      if (VERDICTS.test(message.kind) && flags.evidence) renderer.write(message);
    };
    const options = { withoutKubectl: flags["without-kubectl"], onMessage };
    // Its signal listens to that of all labs.
    const { problems, steps } = await proveOnEmbedded(lab, context, Number(flags.seed), options).finally(() =>
      context.close(),
    );
    const seconds = ((performance.now() - begunMs) / 1000).toFixed(1).padStart(5);
    process.stdout.write(`${problems.length === 0 ? "ok  " : "FAIL"} ${seconds} s  ${id}, ${steps} steps\n`);
    process.stdout.write(shown.join(""));
    for (const problem of problems) process.stdout.write(`     ${problem.replaceAll("\n", "\n       ")}\n`);
    if (problems.length > 0) process.exitCode = 1;
  }
}
