import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import type { ControlPlane } from "../../src/cluster/control-plane/control-plane.js";
import { startControlPlane } from "../../src/cluster/control-plane/start.js";
import type { NodeObject } from "../../src/staging/apimachinery/api/node.js";
import { kubeconfigText } from "../../src/staging/client-go/clientcmd/kubeconfig-text.js";
import { createClient } from "../../src/staging/client-go/rest/create-client.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { SystemRandom } from "../../src/util/random.js";
import { parse } from "../../src/util/yaml.js";
import { CliProcess, newHome } from "../support/cli-process.js";
import { suiteNeeding } from "../support/requirements.js";
import { Terminal } from "../support/terminal.js";

/** Labs that take some seconds at the speed of a watch, with the programs that they need. */
const PLAYED: readonly (readonly [lab: string, ...needs: "openssl"[]])[] = [
  ["03-csr", "openssl"],
  ["04-bootstrap", "openssl"],
  ["20-exec", "openssl"],
  ["21-streams"],
  ["22-logs-port-forward"],
  ["24-pod-life"],
  ["53-csr-stuck", "openssl"],
  ["55-exec-hangs"],
  ["58-wrong-ca-hash", "openssl"],
];
/** The objects that labs create. Any that stay are a lab's leftovers. */
const KINDS = [
  "/api/v1/nodes",
  "/api/v1/pods",
  "/api/v1/namespaces",
  "/api/v1/secrets",
  "/apis/coordination.k8s.io/v1/leases",
  "/apis/certificates.k8s.io/v1/certificatesigningrequests",
  "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
];

interface LabFile {
  readonly id: string;
  readonly cluster?: string;
  readonly embeddedBecause?: unknown;
  readonly vars?: Readonly<Record<string, { readonly oneOf?: readonly string[] }>>;
  readonly steps: readonly { readonly id: string; readonly predict?: readonly string[] }[];
}

function labFile(folder: string): LabFile {
  return parse(readFileSync(join("labs", folder, "lab.yaml"), "utf8")) as LabFile;
}

test("a lab for the embedded cluster only is refused with the reason", () => {
  for (const folder of readdirSync("labs").filter((name) => /^\d/.test(name))) {
    const { cluster, embeddedBecause } = labFile(folder);
    assert.equal(embeddedBecause === undefined, cluster === "any", folder);
  }
});

suiteNeeding(["kubectl"], "a lab on a cluster of the learner's own", () => {
  const home = newHome();
  /** For the labs of these tests alone: others run at the same time, and make folders too. */
  const temporary = mkdtempSync(join(tmpdir(), "t-"));
  const kubeconfig = join(home, "admin.conf");
  const clock = new SystemClock();
  const deps = { clock, random: new SystemRandom(), trace: new Trace(clock) };
  let cluster: ControlPlane;
  beforeAll(async () => {
    cluster = await startControlPlane({ ...deps, kubeVersion: "1.25" });
    writeFileSync(kubeconfig, kubeconfigText(cluster.admin, { cluster: "c", user: "admin", context: "mine" }));
    const { clientCertificatePem: _c, clientKeyPem: _k, ...nobody } = cluster.admin;
    const weak = kubeconfigText(
      { ...nobody, token: "weak00.0123456789abcdef" },
      { cluster: "c", user: "weak", context: "weak" },
    );
    writeFileSync(join(home, "weak.conf"), weak);
    await using client = createClient(cluster.admin, { ...deps, actor: "user" });
    const stringData = {
      "token-id": "weak00",
      "token-secret": "0123456789abcdef",
      "usage-bootstrap-authentication": "true",
    };
    const type = "bootstrap.kubernetes.io/token";
    const metadata = { name: "bootstrap-token-weak00", namespace: "kube-system" };
    const body = { apiVersion: "v1", kind: "Secret", metadata, type, stringData };
    await client.expect({ method: "POST", path: "/api/v1/namespaces/kube-system/secrets", body });
    writeFileSync(join(home, "answers.yaml"), "secrets: no-secrets\nwrong-half: unauthorized\n");
  });
  afterAll(async () => {
    await cluster.close();
    rmSync(home, { recursive: true, force: true });
  });
  const learn = (...words: string[]) => new CliProcess(home, ["learn", ...words], { TMPDIR: temporary }).ended;
  const folders = () => readdirSync(temporary).filter((name) => name.startsWith("kubelab-lab-"));

  test("it runs there, and its objects are removed", async () => {
    const before = folders();
    const words = ["start", "tokens", "--kubeconfig", kubeconfig, "--yes", "--answers", "answers.yaml"];
    await using client = createClient(cluster.admin, { ...deps, actor: "user" });
    const path = "/api/v1/namespaces/kube-system/secrets";
    const stop = new AbortController();
    const made: string[] = [];
    const watching = (async () => {
      for await (const { type, object } of client.watch(path, {}, stop.signal)) {
        if (type === "ADDED") made.push(object.metadata.name ?? "");
      }
    })();
    const { code, stdout, stderr } = await learn(...words);
    assert.equal(code, 0, stdout + stderr);
    stop.abort();
    await watching;
    // The lab draws the token's id from the list in its file.
    const { oneOf } = labFile("02-tokens").vars?.tokenId ?? {};
    const expected = oneOf?.map((id) => `bootstrap-token-${id}`) ?? [];
    assert.equal(made.filter((name) => expected.includes(name)).length, 1, made.join(" "));
    const { items } = await client.expect<{ items: { metadata: { name: string } }[] }>({ method: "GET", path });
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith("bootstrap-token-")),
      ["bootstrap-token-weak00"],
    );
    assert.deepEqual(folders(), before);
  });

  const things = async () => {
    await using client = createClient(cluster.admin, { ...deps, actor: "user" });
    const lists = KINDS.map(async (path) => {
      const { items } = await client.expect<{ items: { metadata: { name: string } }[] }>({ method: "GET", path });
      return items.map(({ metadata }) => `${path}/${metadata.name}`);
    });
    return (await Promise.all(lists)).flat().sort();
  };

  for (const [folder, ...needs] of PLAYED) {
    const { id, steps } = labFile(folder);
    suiteNeeding(needs, id, () => {
      test("it is played to its end, and the cluster is as before", async () => {
        const before = await things();
        const answers = steps.flatMap(({ id: step, predict }) =>
          predict === undefined ? [] : [`${step}: ${predict[0]}`],
        );
        writeFileSync(join(home, `${id}.yaml`), answers.length === 0 ? "{}" : answers.join("\n"));
        const words = ["start", id, "--kubeconfig", kubeconfig, "--yes", "--answers", `${id}.yaml`];
        const { code, stdout, stderr } = await learn(...words);
        assert.equal(code, 0, stdout + stderr);
        assert.deepEqual(await things(), before);
      });
    });
  }

  suiteNeeding(["tmux"], "at a terminal", () => {
    test("a task turns green by another program's change there, without a key", async () => {
      const before = await things();
      const known = folders();
      const words = ["learn", "start", "pod-life", "--kubeconfig", kubeconfig];
      // A learner who has not played the lab before, unlike the one above.
      const learner = newHome();
      await using terminal = new Terminal(words, { home: learner, rows: 50, env: { TMPDIR: temporary } });
      await terminal.shows(/\(y\/N\)/);
      terminal.press("y", "Enter");
      await terminal.shows(/Step 1 of[\s\S]*^c check/m);
      const [folder = ""] = folders().filter((name) => !known.includes(name));
      await using client = createClient(cluster.admin, { ...deps, actor: "user" });
      const body = parse(readFileSync(join(temporary, folder, "pod.yaml"), "utf8")) as object;
      await client.expect({ method: "POST", path: "/api/v1/namespaces/default/pods", body });
      await terminal.shows(/✓ .*is stored, as pod\.yaml says[\s\S]*Next: [\s\S]*^n next/m);
      terminal.press("q");
      await terminal.shows(/ended with 0/);
      assert.deepEqual(await things(), before);
      rmSync(learner, { recursive: true, force: true });
    });
  });

  test("an object of the lab exists already: the lab does not start, and touches nothing", async () => {
    await using client = createClient(cluster.admin, { ...deps, actor: "user" });
    const path = "/api/v1/nodes";
    const body = { apiVersion: "v1", kind: "Node", metadata: { name: "lab-node-1" } };
    await client.expect({ method: "POST", path, body });
    const before = await things();
    const words = ["start", "streams", "--kubeconfig", kubeconfig, "--yes", "--answers", "streams.yaml"];
    writeFileSync(join(home, "streams.yaml"), "code: error\nnewer: v4\nchannels: ready\nend: hangs\n");
    const { code, stderr } = await learn(...words);
    assert.equal(code, 1, stderr);
    assert.match(stderr, /your cluster already has objects that the lab would create.*nodes\/lab-node-1/);
    assert.deepEqual(await things(), before);
    await client.expect({ method: "DELETE", path: `${path}/lab-node-1` });
  });

  test("after Ctrl-C nothing of the lab is left, and its nodes were tainted", async () => {
    const before = await things();
    writeFileSync(join(home, "tour.yaml"), "levels: same\nsecrets: masked\ntime: seconds\n");
    const words = ["learn", "start", "tour", "--kubeconfig", kubeconfig, "--yes", "--answers", "tour.yaml"];
    const lab = new CliProcess(home, words, { TMPDIR: temporary });
    await lab.printed(/Step 8 of/);
    await using client = createClient(cluster.admin, { ...deps, actor: "user" });
    const node = await client.expect<NodeObject>({ method: "GET", path: "/api/v1/nodes/lab-node-1" });
    assert.deepEqual(
      node.spec?.taints?.map(({ key, effect }) => `${key}:${effect}`),
      ["kubelab/lab:NoSchedule"],
    );
    lab.child.kill("SIGINT");
    assert.equal((await lab.ended).code, 130);
    assert.deepEqual(await things(), before);
  });

  test("killed: the next lab there lists what is left, and reset removes exactly that", async () => {
    const before = await things();
    writeFileSync(join(home, "tour.yaml"), "levels: same\nsecrets: masked\ntime: seconds\n");
    writeFileSync(join(home, "streams.yaml"), "code: error\nnewer: v4\nchannels: ready\nend: hangs\n");
    const words = ["learn", "start", "tour", "--kubeconfig", kubeconfig, "--yes", "--answers", "tour.yaml"];
    const lab = new CliProcess(home, words, { TMPDIR: temporary });
    await lab.printed(/Step 4 of/);
    const second = await learn("start", "streams", "--kubeconfig", kubeconfig, "--yes", "--answers", "streams.yaml");
    assert.deepEqual([second.code, /lab tour is running on mine/.test(second.stderr)], [1, true]);
    await lab.kill("SIGKILL");
    assert.notDeepEqual(await things(), before);
    await using client = createClient(cluster.admin, { ...deps, actor: "user" });
    const theirs = { apiVersion: "v1", kind: "Secret", metadata: { name: "theirs", namespace: "kube-system" } };
    await client.expect({ method: "POST", path: "/api/v1/namespaces/kube-system/secrets", body: theirs });

    const other = ["start", "tokens", "--kubeconfig", kubeconfig, "--yes", "--answers", "answers.yaml"];
    const refused = await learn(...other);
    assert.equal(refused.code, 1, refused.stderr);
    assert.match(refused.stderr, /lab tour was killed on mine and left these objects: .*nodes\/lab-node-2/);
    assert.match(refused.stderr, /kubelab learn reset --kubeconfig \/.*admin\.conf/);
    assert.match(
      (await learn("next")).stderr,
      /no lab is running[\s\S]*Lab tour was killed on mine[\s\S]*learn reset --kub/,
    );
    const unasked = await learn("reset", "--kubeconfig", kubeconfig);
    assert.equal(unasked.code, 2, unasked.stderr);
    assert.match(unasked.stderr, /nodes\/lab-node-2,\s[\s\S]*Delete what lab tour has left on mine[\s\S]*--yes/);

    const reset = await learn("reset", "--kubeconfig", kubeconfig, "--yes");
    assert.equal(reset.code, 0, reset.stderr);
    assert.match(reset.stdout, /^tour: deleted: [\s\S]*nodes\/lab-node-1,\s[\s\S]*leases\/lab-node-2\n$/);
    const path = "/api/v1/namespaces/kube-system/secrets/theirs";
    assert.equal((await client.request({ method: "DELETE", path })).status, 200);
    assert.deepEqual(await things(), before);
    assert.match((await learn("reset", "--kubeconfig", kubeconfig)).stdout, /nothing is left of a killed lab on mine/);
  });

  test("a lab that needs its own clock is refused with the reason", async () => {
    const { code, stderr } = await learn("start", "asleep", "--kubeconfig", kubeconfig);
    assert.equal(code, 2);
    assert.match(stderr, /lab asleep needs the embedded cluster: .*a clock of its own/);
  });

  test("without the rights it does not start, and lists the missing ones", async () => {
    const weak = join(home, "weak.conf");
    const { code, stderr } = await learn("start", "tokens", "--kubeconfig", weak, "--yes", "--answers", "answers.yaml");
    assert.equal(code, 4, stderr);
    assert.match(stderr, /rights that you do not have on that cluster: create secrets, delete secrets/);
  });

  test("without a terminal and without --yes it does not begin; the line that it names does", async () => {
    const { code, stderr } = await learn("start", "tokens", "--kubeconfig", "admin.conf");
    assert.equal(code, 2);
    const [message, hint = "", ...answers] = stderr.trimEnd().split("\n");
    assert.match(message ?? "", /needs a terminal, or --yes/);
    const [, command = ""] =
      /: kubelab (learn start tokens --kubeconfig .* --yes --answers answers\.yaml)$/.exec(hint) ?? [];
    const lines = answers.map((line) => line.replace(/ \|.*/, ""));
    assert.deepEqual(
      lines.map((line) => line.split(":")[0]),
      ["secrets", "wrong-half"],
    );
    writeFileSync(join(home, "answers.yaml"), lines.join("\n"));
    const named = await new CliProcess(home, command.split(" "), { TMPDIR: temporary }).ended;
    assert.equal(named.code, 0, named.stderr);
    const without = await learn("start", "csr", "--context", "my cluster", "--kubeconfig", "admin.conf");
    assert.match(without.stderr, /\/admin\.conf --context 'my cluster' --yes/);
  });
});
