import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { createClient } from "../../src/client/create-client.js";
import type { ControlPlane } from "../../src/controlplane/control-plane.js";
import { startControlPlane } from "../../src/controlplane/start.js";
import { tokenSecret } from "../../src/kubelet/bootstraptoken/secret.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { SystemRandom } from "../../src/util/random.js";

const run = promisify(execFile);

/** The recordings of a real control plane, beside the checkout where they are at all. */
export const RECORDINGS = resolve("../shared/recordings");
export const REAL = join(RECORDINGS, "apiserver-v1.25");
export const hasRecordings = existsSync(join(RECORDINGS, "recorder", "record.py"));

/** One item that differs: its name and the normaliser's lines about it. */
export interface Difference {
  readonly item: string;
  readonly lines: readonly string[];
}

export interface TopicResult {
  readonly topic: string;
  readonly itemCount: number;
  readonly differences: readonly Difference[];
}

/**
 * Starts an embedded control plane that is seeded as the recorded one was, lets the recorder ask it all that it asked the
 * real one, topic after topic as then (what is too old for a watch depends on what was before), and compares.
 * @param folder where the new recordings go
 */
export async function* recordTopics(topics: readonly string[], folder: string): AsyncGenerator<TopicResult> {
  await mkdir(folder, { recursive: true });
  const clock = new SystemClock();
  const random = new SystemRandom();
  const trace = new Trace(clock);
  await using controlPlane = await startControlPlane({ clock, random, trace, kubeVersion: "1.25", likeRecorded: true });
  await using client = createClient(controlPlane.admin, { clock, random, trace, actor: "user" });
  const secret = tokenSecret({
    token: { id: "abcdef", secret: "0123456789abcdef" },
    usages: ["authentication", "signing"],
    groups: ["system:bootstrappers:kubeadm:default-node-token"],
  });
  await client.expect({ method: "POST", path: "/api/v1/namespaces/kube-system/secrets", body: secret });
  for (const topic of topics) {
    await record(controlPlane, topic, folder);
    yield await compare(topic, folder);
  }
}

async function record(controlPlane: ControlPlane, topic: string, folder: string): Promise<void> {
  const file = (name: string) => join(folder, name);
  await writeFile(file("ca.crt"), controlPlane.caPem);
  await writeFile(file("admin.crt"), controlPlane.admin.clientCertificatePem ?? "");
  await writeFile(file("admin.key"), controlPlane.admin.clientKeyPem ?? "", { mode: 0o600 });
  const identity = ["--ca", file("ca.crt"), "--cert", file("admin.crt"), "--key", file("admin.key")];
  const recorder = join(RECORDINGS, "recorder", "record.py");
  await run("python3", [recorder, "--server", controlPlane.url, ...identity, "--out", folder, "--topics", topic]);
}

/** The key id of a cluster's CA, as `openssl x509 -text` prints it in every certificate that the CA issued. */
const CA_KEY_ID = /\b(?:[0-9A-F]{2}:){19}[0-9A-F]{2}\b/;

/** Each cluster has a CA of its own: its key id is written as the recorded cluster's, so that only the rest is compared. */
async function adoptCaKeyId(recorded: string, ours: string): Promise<void> {
  const text = await readFile(ours, "utf8");
  const theirId = CA_KEY_ID.exec(await readFile(recorded, "utf8"))?.[0];
  const ourId = CA_KEY_ID.exec(text)?.[0];
  if (theirId !== undefined && ourId !== undefined) await writeFile(ours, text.replaceAll(ourId, theirId));
}

/** Compares item by item with the real server's recording, after both were normalised. */
async function compare(topic: string, folder: string): Promise<TopicResult> {
  await adoptCaKeyId(join(REAL, `${topic}.json`), join(folder, `${topic}.json`));
  const normalise = join(RECORDINGS, "recorder", "normalise.py");
  const files = [join(REAL, `${topic}.json`), join(folder, `${topic}.json`)];
  // It exits with 1 when anything differs: that is a result, not a failure.
  const { stdout } = await run("python3", [normalise, ...files], { maxBuffer: 64 << 20 }).catch(
    (error: { code?: number; stdout?: string }) => {
      if (error.code !== 1 || error.stdout === undefined) throw error;
      return { stdout: error.stdout };
    },
  );
  return { topic, ...parseComparison(stdout) };
}

function parseComparison(text: string): { itemCount: number; differences: Difference[] } {
  const differences: { item: string; lines: string[] }[] = [];
  for (const line of text.split("\n")) {
    const missing = /^missing in the second: (.*)$/.exec(line)?.[1];
    const differs = /^## (.*)$/.exec(line)?.[1];
    if (missing !== undefined) differences.push({ item: missing, lines: ["missing"] });
    else if (differs !== undefined) differences.push({ item: differs, lines: [] });
    else if (line.startsWith("   ")) differences.at(-1)?.lines.push(line.trim());
  }
  const itemCount = Number(/(\d+) of (\d+) items differ/.exec(text)?.[2] ?? Number.NaN);
  return { itemCount, differences };
}

/** Whether a difference is in a status code or a `reason`: those are never acceptable. */
export function isSevere(difference: Difference): boolean {
  return difference.lines.some((line) => /^(missing|\/response\/status|\S*\/reason|\S*\/code):?/.test(line));
}
