import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import type { ControlPlane } from "../../src/cluster/control-plane/control-plane.js";
import { compareTopic, type TopicResult } from "./compare.js";
import type { Item } from "./item.js";
import { RecordedCluster } from "./recorded-cluster.js";

const run = promisify(execFile);

/** The recordings of a real control plane, outside the repository if available. */
export const RECORDINGS = resolve("../shared/recordings");
export const REAL = join(RECORDINGS, "apiserver-v1.25");
export const hasRecordings = existsSync(join(RECORDINGS, "recorder", "record.py"));

/**
 * Earlier topics of the recorded cluster that affect responses: the changes with which a watch can still begin, and the
 * existing events.
 */
const BEFORE: Readonly<Record<string, readonly string[]>> = {
  watch: ["auth", "auth", "pods"],
  tables: ["auth", "pods"],
};

/**
 * Starts an embedded control plane like the recorded one, lets the recorder send the same requests topic by topic, and compares.
 *
 * @param folder where the new recordings go
 */
export async function* recordTopics(topics: readonly string[], folder: string): AsyncGenerator<TopicResult> {
  const earlier = join(folder, "earlier");
  await mkdir(earlier, { recursive: true });
  await using cluster = await RecordedCluster.start();
  const done: string[] = [];
  for (const topic of topics) {
    for (const missing of without(BEFORE[topic] ?? [], done)) {
      await record(cluster, missing, earlier);
      done.push(missing);
    }
    await record(cluster, topic, folder);
    done.push(topic);
    yield await compare(topic, folder);
  }
}

/** The rest of a list after removing each element of the other once. */
function without(list: readonly string[], others: readonly string[]): string[] {
  const left = [...others];
  return list.filter((one) => {
    const index = left.indexOf(one);
    if (index >= 0) left.splice(index, 1);
    return index < 0;
  });
}

async function record(cluster: RecordedCluster, topic: string, folder: string): Promise<void> {
  await cluster.prepare(topic);
  const { items } = JSON.parse(await readFile(join(REAL, `${topic}.json`), "utf8")) as { items: Item[] };
  const over = new AbortController();
  const others = cluster.meanwhile(topic, items, over.signal);
  try {
    await Promise.all([runRecorder(cluster.controlPlane, topic, folder), others]);
  } finally {
    over.abort();
  }
  await cluster.cleanUp(topic);
}

async function runRecorder({ url, caPem, admin }: ControlPlane, topic: string, folder: string): Promise<void> {
  const file = (name: string) => join(folder, name);
  await writeFile(file("ca.crt"), caPem);
  await writeFile(file("admin.crt"), admin.clientCertificatePem ?? "");
  await writeFile(file("admin.key"), admin.clientKeyPem ?? "", { mode: 0o600 });
  const identity = ["--ca", file("ca.crt"), "--cert", file("admin.crt"), "--key", file("admin.key")];
  const recorder = join(RECORDINGS, "recorder", "record.py");
  await run("python3", [recorder, "--server", url, ...identity, "--out", folder, "--topics", topic]);
}

/** The key id of a cluster's CA, as `openssl x509 -text` prints it in every certificate that the CA issued. */
const CA_KEY_ID = /\b(?:[0-9A-F]{2}:){19}[0-9A-F]{2}\b/;

/** Each cluster has its own CA: its key id is replaced by the recorded cluster's, so that the rest can be compared. */
async function adoptCaKeyId(recorded: string, ours: string): Promise<void> {
  const text = await readFile(ours, "utf8");
  const theirId = CA_KEY_ID.exec(await readFile(recorded, "utf8"))?.[0];
  const ourId = CA_KEY_ID.exec(text)?.[0];
  if (theirId !== undefined && ourId !== undefined) await writeFile(ours, text.replaceAll(ourId, theirId));
}

async function compare(topic: string, folder: string): Promise<TopicResult> {
  const files = { recorded: join(REAL, `${topic}.json`), ours: join(folder, `${topic}.json`) };
  await adoptCaKeyId(files.recorded, files.ours);
  return compareTopic(topic, join(RECORDINGS, "recorder", "normalise.py"), files);
}
