import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../support/free-port.js";
import { clusterSession } from "./cluster-session.js";
import { type Output, plainOutput, type Scenario, singleSpaced, tracedOutput } from "./outputs.js";

/** A manifest of a static pod, which is taken away once its pod runs. */
const ONCE = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "once" },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "c", image: "busybox:1.36", command: ["sleep", "1h"] }],
  },
};

const BINDING = {
  apiVersion: "v1",
  kind: "Binding",
  metadata: { name: "web" },
  target: { apiVersion: "v1", kind: "Node", name: "node-1" },
};

/** Ends a command when it has printed this. */
const endsWith =
  (last: RegExp): NonNullable<Scenario["onOutput"]> =>
  (text, stop) => {
    if (last.test(text)) stop.abort();
  };

function newFolder(): string {
  return mkdtempSync(join(tmpdir(), "kubelab-course-"));
}

function writeJson(value: unknown): string {
  const path = join(newFolder(), "object.json");
  writeFileSync(path, JSON.stringify(value));
  return path;
}

/** A kubelet with a static pod that goes, and with its two small servers. */
async function node(): Promise<Output> {
  const home = newFolder();
  const manifests = join(home, "manifests");
  mkdirSync(manifests);
  const once = join(manifests, "once.json");
  writeFileSync(once, JSON.stringify(ONCE));
  const [healthzPort, readOnlyPort] = [await freePort(), await freePort()];
  const config = join(home, "kubelet.json");
  const head = { apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" };
  writeFileSync(config, JSON.stringify({ ...head, healthzPort, readOnlyPort }));
  let answers: Promise<string> | undefined;
  const out = await tracedOutput({
    argv: ["node", "--config", config, "--root-dir", join(home, "root"), "--manifest-dir", manifests, "--speed", "10"],
    onOutput: (text, stop) => {
      if (/container created (?:→|->) running/.test(text)) {
        answers ??= answersOf(
          `http://127.0.0.1:${healthzPort}/healthz`,
          ...["pods", "spec/"].map((path) => `http://127.0.0.1:${readOnlyPort}/${path}`),
        );
        void answers.then(() => rmSync(once, { force: true }));
      }
      if (text.includes("remove the status of default/once")) stop.abort();
    },
  });
  return { ...out, text: `${out.text} ${await answers}` };
}

/** What URLs answer, one after the other. */
async function answersOf(...urls: readonly string[]): Promise<string> {
  let said = "";
  for (const url of urls) {
    const answer = await fetch(url);
    said += ` GET ${new URL(url).pathname} ${answer.status} ${await answer.text()}`;
  }
  return singleSpaced(said);
}

/** The runtime's container is killed and removed behind the kubelet's back, by the page's server. */
async function plegOfKilledPod(): Promise<Output> {
  const http = `127.0.0.1:${await freePort()}`;
  const acted = new Set<string>();
  const actOnce = (action: string) => {
    if (acted.has(action)) return;
    acted.add(action);
    void fetch(`http://${http}/actions/${action}?target=mypod`, { method: "POST" });
  };
  return tracedOutput({
    argv: ["pleg", "--mock", "--speed", "20", "--http", http],
    onOutput: (text, stop) => {
      if (text.includes("merge 2 sandboxes")) actOnce("kill");
      if (text.includes("ContainerDied")) actOnce("remove");
      if (text.includes("ContainerRemoved")) stop.abort();
    },
  });
}

/** A worker waits for the cache until it is released by its pod's UID. */
async function heldWorker(): Promise<Output> {
  const http = `127.0.0.1:${await freePort()}`;
  const release = async () => {
    let uid: string | undefined;
    do uid = /"held":\["([0-9a-f-]+)"/.exec(await (await fetch(`http://${http}/state`)).text())?.[1];
    while (uid === undefined);
    await fetch(`http://${http}/setcache?id=${uid}`, { method: "POST" });
  };
  let isReleased = false;
  return tracedOutput({
    argv: ["pod-worker", "--hold-cache", "--http", http, "--manifest-dir", writeJson(ONCE)],
    onOutput: (text, stop) => {
      if (!isReleased && text.includes("Workers as JSON")) {
        isReleased = true;
        void release();
      }
      if (/is held before GetNewerThan\(\d/.test(text)) stop.abort();
    },
  });
}

async function bindingRequest(): Promise<Output> {
  const argv = ["request", "create", "pod/web/binding", "-f", writeJson(BINDING), "--with", "pod/web"];
  return tracedOutput({ argv });
}

/** The runs that need more than a command line, and those with a trace, by the line that a row shows. */
export const SCENARIOS: Readonly<Record<string, (etcdUrl: string) => Promise<Output>>> = {
  "kubelab pleg --mock": () => tracedOutput({ argv: ["pleg", "--mock", "--speed", "20", "--duration", "40s"] }),
  "kubelab pleg --http ADDRESS": plegOfKilledPod,
  "kubelab node --config kubelet.yaml --manifest-dir FOLDER": node,
  "kubelab journey pod/web --delete": () => tracedOutput({ argv: ["journey", "pod/web", "--delete"] }),
  "kubelab journey deployment/nginx": () => tracedOutput({ argv: ["journey", "deployment/nginx"] }),
  "kubelab request create pod/web": () => tracedOutput({ argv: ["request", "create", "pod/web"] }),
  "kubelab request create pod/web/binding": bindingRequest,
  "kubelab cluster up --etcd URL": (etcdUrl) =>
    tracedOutput({
      argv: ["cluster", "up", "--etcd", etcdUrl],
      onOutput: endsWith(/newETCD3Storage: a client/),
    }),
  "kubelab bootstrap": () => tracedOutput({ argv: ["bootstrap"] }),
  "kubelab lease --stop-after 2 --revive": () =>
    tracedOutput({ argv: ["lease", "--stop-after", "2", "--revive", "--speed", "40"] }),
  "kubelab exec nettool -- ls /": () =>
    tracedOutput({ argv: ["exec", "nettool", "--mock", "--frames", "--", "ls", "/"] }),
  "kubelab static-pod": () => tracedOutput({ argv: ["static-pod", "--speed", "5", "--duration", "1m"] }),
  "kubelab pod-worker --hold-cache --http ADDRESS": heldWorker,
};

/** The outputs of rows' commands; each command runs once, however many rows it has. */
export class Outputs {
  readonly #outputs = new Map<string, Promise<Output>>();
  #session: Promise<ReadonlyMap<string, Output>> | undefined;

  /** @param etcdUrl for the run on etcd */
  of(run: string, etcdUrl: string): Promise<Output> {
    const known = this.#outputs.get(run);
    const output = known ?? SCENARIOS[run]?.(etcdUrl) ?? this.#typed(run);
    this.#outputs.set(run, output);
    return output;
  }

  async #typed(run: string): Promise<Output> {
    if (/^kubelab (explain|source|node config|runtime images)\b/.test(run))
      return plainOutput(run.slice("kubelab ".length));
    this.#session ??= clusterSession();
    const output = (await this.#session).get(run);
    if (output === undefined) throw new Error(`nothing runs ${run}`);
    return output;
  }
}
