import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, test } from "vitest";
import { CliSession } from "../../../src/commands/cli/session.js";
import { COMMANDS } from "../../../src/commands/command-table.js";
import { PROGRAM } from "../../../src/commands/main.js";
import { compileLabs } from "../../../src/lab/labs/format/compile.js";
import type { Lab } from "../../../src/lab/labs/format/lab.js";
import type { Proof } from "../../../src/lab/labs/prove/prove.js";
import { labsAtOnce, proveOnEmbedded } from "../../../src/lab/labs/prove/prove-embedded.js";
import type { LabMessage } from "../../../src/lab/labs/session/message.js";
import type { Language } from "../../../src/util/i18n/language.js";
import { SystemRandom } from "../../../src/util/random.js";
import { RenderedWidths } from "../../support/rendered-widths.js";
import { suiteNeeding } from "../../support/requirements.js";

const compiled = await compileLabs("labs", { commands: COMMANDS.map(({ name }) => name) });
const labs = compiled.flatMap(({ lab }) => (lab === undefined ? [] : [lab]));

suiteNeeding(["kubectl", "openssl"], "proof of the labs, on the embedded cluster", () => {
  const home = mkdtempSync(join(tmpdir(), "kubelab-prove-"));
  const queue = labs.filter(isEmbeddedOnly);
  const proofs = new Map<string, Promise<Proof>>();
  const running = new Set<Promise<Proof>>();
  const most = labsAtOnce(loadavg()[0] ?? 0, cpus().length);

  let atOnce = most;

  /** Keeps some labs under way, in the order of the tests: each test finds its lab begun. */
  const begin = () => {
    while (running.size < atOnce) {
      const lab = queue.shift();
      if (lab === undefined) return;
      const proof = prove(lab, home);
      const end = () => {
        running.delete(proof);
        begin();
      };
      proofs.set(lab.definition.id, proof);
      running.add(proof);
      proof.then(end, end);
    }
  };
  const proveAlone = async (lab: Lab): Promise<Proof> => {
    atOnce = 0;
    try {
      await Promise.allSettled(running);
      return await prove(lab, mkdtempSync(join(tmpdir(), "kubelab-prove-")));
    } finally {
      atOnce = most;
      begin();
    }
  };
  beforeAll(begin);
  afterAll(async () => {
    queue.length = 0;
    await Promise.allSettled(running);
  });

  for (const lab of labs.filter(isEmbeddedOnly)) {
    const { id } = lab.definition;
    test(`${id} holds`, async () => {
      const first = proofs.get(id);
      // A second try proves it again, alone.
      proofs.delete(id);
      const { problems } = await (first ?? proveAlone(lab));
      assert.deepEqual(problems, []);
    }, 240_000);
  }
});

suiteNeeding(["containerd", "busybox-static", "root"], "proof of the labs with a real containerd", () => {
  for (const lab of labs.filter((one) => !isEmbeddedOnly(one))) {
    test(`${lab.definition.id} holds`, async () => {
      const home = mkdtempSync(join(tmpdir(), "kubelab-prove-"));
      assert.deepEqual((await prove(lab, home)).problems, []);
    }, 120_000);
  }
});

suiteNeeding(["openssl"], "proof of some labs with the built-in kubectl", () => {
  const ids = [
    "tokens",
    "csr",
    "bootstrap",
    "apply",
    "deployment",
    "services",
    "who-deletes",
    "images",
    "qos",
    "pending-forever",
  ];
  for (const id of ids) {
    test(`${id} holds`, async () => {
      const lab = labs.find(({ definition }) => definition.id === id);
      assert.ok(lab);
      const home = mkdtempSync(join(tmpdir(), "kubelab-prove-"));
      assert.deepEqual((await prove(lab, home, { withoutKubectl: true })).problems, []);
    }, 240_000);
  }
});

function isEmbeddedOnly({ definition }: Lab): boolean {
  return !definition.needs.includes("containerd");
}

async function prove(lab: Lab, home: string, options: { readonly withoutKubectl?: boolean } = {}): Promise<Proof> {
  const context = new CliSession(
    {
      env: { ...process.env, HOME: home, XDG_STATE_HOME: join(home, lab.definition.id) },
      cwd: home,
      streams: { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() },
      random: new SystemRandom(),
      self: [process.execPath, resolve("dist/cli.js")],
      signal: new AbortController().signal,
    },
    PROGRAM,
  );
  await context.load();
  const widths = new RenderedWidths();
  const onMessage = (message: LabMessage) => widths.see("en", message);
  const onText = (language: Language, message: LabMessage) => widths.see(language, message);
  const proof = await proveOnEmbedded(lab, context, 1, { ...options, onMessage, onText });
  return { ...proof, problems: [...proof.problems, ...widths.problems] };
}
