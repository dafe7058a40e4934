import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { loadKubeconfig } from "../../../src/staging/client-go/clientcmd/kubeconfig.js";
import { createClient } from "../../../src/staging/client-go/rest/create-client.js";
import { Trace } from "../../../src/trace/trace.js";
import { SystemClock } from "../../../src/util/clock.js";
import { SystemRandom } from "../../../src/util/random.js";
import { newHome, runCliProcess } from "../../support/cli-process.js";

interface Way {
  readonly title: string;
  readonly steps: readonly {
    readonly number: number;
    readonly because: number;
    readonly actor: string;
    readonly text: string;
    readonly detail: string;
    readonly why?: string;
    readonly upstream?: { readonly file: string; readonly func: string };
  }[];
}

/** What happens in every pod's life, in this order; each step leads back to the first. */
const RUNNING = [
  ["user", /^POST \/api\/v1\/namespaces\/default\/pods → 201/],
  ["apiserver", /^pods default\/web: stored/],
  ["scheduler", /^watch event ADDED pods default\/web$/],
  ["scheduler", /^POST \S*\/pods\/web\/binding → 201/],
  ["apiserver", /^pods default\/web: stored/],
  ["kubelet", /^watch event ADDED pods default\/web$/],
  ["kubelet", /^Sync pod default\/web$/],
  ["kubelet", /^RuntimeService\/RunPodSandbox → OK/],
  ["runtime", /^default\/web: sandbox none → ready$/],
  ["kubelet", /^ImageService\/PullImage → OK/],
  ["kubelet", /^RuntimeService\/CreateContainer → OK/],
  ["kubelet", /^RuntimeService\/StartContainer → OK/],
  ["runtime", /^default\/web\/nginx: container created → running$/],
  ["kubelet", /^Sync pod default\/web$/],
  ["kubelet", /^PATCH \/api\/v1\/namespaces\/default\/pods\/web\/status → 200/],
  ["apiserver", /^pods default\/web: stored/],
] as const;
const GONE = [
  ["user", /^DELETE \/api\/v1\/namespaces\/default\/pods\/web → 200/],
  ["kubelet", /^watch event MODIFIED pods default\/web$/],
  ["kubelet", /^RuntimeService\/StopContainer → OK/],
  ["runtime", /^default\/web\/nginx: container running → exited/],
  ["kubelet", /^DELETE \/api\/v1\/namespaces\/default\/pods\/web → 200/],
  ["apiserver", /^pods default\/web: deleted/],
] as const;

function assertTold({ title, steps }: Way, want: readonly (readonly [string, RegExp])[]): void {
  let at = 0;
  for (const [actor, text] of want) {
    const found = steps.findIndex((step, i) => i >= at && step.actor === actor && text.test(step.detail));
    assert.notEqual(
      found,
      -1,
      `${title}: ${actor} ${text} after step ${at} of\n${steps.map((one) => one.detail).join("\n")}`,
    );
    at = found + 1;
  }
  const orphans = steps.filter(({ number, because }) => number > 1 && (because === 0 || because >= number));
  assert.deepEqual(orphans, [], title);
  const unexplained = steps.filter(({ why, upstream }) => why === undefined || upstream === undefined);
  assert.deepEqual(unexplained, [], title);
}

test("journey: a pod from the request to Running and until it is gone, each step caused by an earlier one", async () => {
  const { code, stdout, stderr } = await runCliProcess(newHome(), "journey", "--delete", "--json");
  assert.equal(code, 0, stderr);
  const [running, gone] = (JSON.parse(stdout) as { journeys: Way[] }).journeys;
  assert(running !== undefined && gone !== undefined);
  assertTold(running, RUNNING);
  assertTold(gone, GONE);
});

/** The same for a Deployment, through the ReplicaSet that its controller makes. */
const AVAILABLE = [
  ["user", /^POST \/apis\/apps\/v1\/namespaces\/default\/deployments → 201/],
  ["apiserver", /^deployments default\/web: stored/],
  ["controller", /^watch event ADDED deployments default\/web$/],
  ["controller", /^create ReplicaSet default\/web-/],
  ["apiserver", /^replicasets default\/web-\w+: stored/],
  ["controller", /^create 1 pod for ReplicaSet/],
  ["apiserver", /^pods default\/web-[-\w]+: stored/],
  ["scheduler", / goes to node-1$/],
  ["kubelet", /^Sync pod default\/web-/],
  ["kubelet", /^RuntimeService\/StartContainer → OK/],
  ["kubelet", /^PATCH \S*\/status → 200/],
  ["controller", /^write the status of ReplicaSet/],
  ["controller", /^write the status of Deployment/],
  ["apiserver", /^deployments default\/web: stored/],
] as const;
const ALL_GONE = [
  ["user", /^DELETE \/apis\/apps\/v1\/namespaces\/default\/deployments\/web → 200/],
  ["apiserver", /^deployments default\/web: deleted/],
  ["controller", /^delete replicaset default\/web-/],
  ["apiserver", /^replicasets default\/web-\w+: deleted/],
  ["kubelet", /^RuntimeService\/StopContainer → OK/],
  ["apiserver", /^pods default\/web-[-\w]+: deleted/],
] as const;

test("journey: a Deployment until its pod is available, and until the pod is gone", async () => {
  const { code, stdout, stderr } = await runCliProcess(newHome(), "journey", "deployment/web", "--delete", "--json");
  assert.equal(code, 0, stderr);
  const { deployment, journeys } = JSON.parse(stdout) as { deployment: string; journeys: Way[] };
  const [available, gone] = journeys;
  assert(available !== undefined && gone !== undefined);
  assert.equal(deployment, "default/web");
  assertTold(available, AVAILABLE);
  assertTold(gone, ALL_GONE);
});

test("journey: each step is one line of at most 100 columns, also for the long names of a Deployment's pods", async () => {
  const { stdout, stderr } = await runCliProcess(newHome(), "journey", "deployment/web");
  const [, ...lines] = stdout.trimEnd().split("\n");
  assert.ok(lines.length >= 20, stderr);
  for (const line of lines) assert.match(line, /^ *\d+ (?:←\d+ *| {5})[\d. ]{8}\w+ +\S .{1,80}$/);
});

test("journey: an image that cannot be pulled is said when the time is over", async () => {
  const home = newHome();
  const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: does-not-exist}]}";
  writeFileSync(join(home, "pod.yaml"), pod);
  const { code, stderr } = await runCliProcess(home, "journey", "-f", "pod.yaml", "--timeout", "2s");
  assert.equal(code, 1);
  assert.match(stderr, /pod default\/a: it is Pending after 2 s\n/);
});

test("journey: on a running cluster it has every watch event that another client sees", async () => {
  const home = newHome();
  const up = await runCliProcess(home, "cluster", "up", "--detach", "--nodes", "1");
  assert.equal(up.code, 0, up.stderr);
  try {
    const { config } = await loadKubeconfig(join(home, "state", "kubelab", "clusters", "kubelab.kubeconfig"));
    const clock = new SystemClock();
    await using client = createClient(config, {
      trace: new Trace(clock),
      clock,
      random: new SystemRandom(),
      actor: "user",
    });
    for (const object of ["pod/web", "deployment/web"]) {
      const stop = new AbortController();
      const seen: string[] = [];
      const watching = (async () => {
        for await (const { type, object: pod } of client.watch(PODS_PATH, { labelSelector: "!other" }, stop.signal)) {
          seen.push(`watch event ${type} pods default/${pod.metadata.name}`);
          if (type === "DELETED") return;
        }
      })();
      const { code, stdout, stderr } = await runCliProcess(home, "journey", object, "--delete", "--json");
      assert.equal(code, 0, stderr);
      await watching;
      stop.abort();
      const { journeys } = JSON.parse(stdout) as { journeys: Way[] };
      const shown = journeys
        .flatMap(({ steps }) => steps.map(({ detail }) => detail))
        .filter((text) => text.startsWith("watch event") && text.includes(" pods "));
      assert.equal(shown[0], seen[0], `the first event is that of the creation of ${object}`);
      assert.equal(shown.at(-1), seen.at(-1), "the last one that of the deletion");
      // Between the two parts of the journey nobody asks for events.
      const ended = journeys[0]?.steps.map(({ detail }) => detail) ?? [];
      const before = ended.filter((text) => text.startsWith("watch event") && text.includes(" pods "));
      assert.deepEqual(before, seen.slice(0, before.length));
      assert.ok(before.length >= 3, `Pending, scheduled, Running: ${before.join("; ")}`);
    }
  } finally {
    await runCliProcess(home, "cluster", "down");
  }
});

const PODS_PATH = "/api/v1/namespaces/default/pods";
