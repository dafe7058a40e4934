import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { clusterKubeconfig, writeClusterState } from "../../../src/testbed/target/cluster-state.js";
import { makeAuthority } from "../../support/https-server.js";
import { missingPath } from "../../support/missing-path.js";
import { isTooWide } from "../../support/rendered-widths.js";
import { runInProcess } from "../../support/run-cli.js";
import { StreamCluster } from "../../support/stream-cluster.js";

const flat = (text: string) => text.replace(/\s+/g, " ");

/** Arguments, stdin, exit code, stdout, a part of stderr. */
type Row = readonly [
  title: string,
  argv: readonly string[],
  code: number,
  stdout: RegExp,
  stderr: RegExp,
  stdin?: string,
];

const COMMON: readonly Row[] = [
  [
    "the listing is on stdout, the rest on stderr",
    ["nettool", "--", "ls", "/"],
    0,
    /^bin\ndev\n.*var\n$/s,
    /ended, exit code 0; bytes: stdout \d+, stderr 0/,
  ],
  ["pod/NAME", ["pod/nettool", "--", "true"], 0, /^$/, /exit code 0/],
  ["the exit code is passed on", ["nettool", "--", "sh", "-c", "exit 7"], 7, /^$/, /ended, exit code 7/],
  ["what a shell does not find is 127", ["nettool", "--", "sh", "-c", "nosuch"], 127, /^$/, /exit code 127/],
  [
    "what the runtime does not find is 127 too",
    ["nettool", "--", "nosuch"],
    127,
    /^$/,
    /"nosuch": executable file not found in \$PATH/,
  ],
  ["what is no program is 126", ["nettool", "--", "/etc/hostname"], 126, /^$/, /permission denied/],
  ["stderr stays apart", ["nettool", "--", "sh", "-c", "echo out; echo err >&2"], 0, /^out\n$/, /err/],
  ["without -i there is no stdin", ["nettool", "--", "cat"], 0, /^$/, /exit code 0/, "never read"],
  [
    "SPDY closes stdin",
    ["nettool", "-i", "--protocol", "spdy", "--", "cat"],
    0,
    /^hello\n$/,
    /SPDY, v4\.channel\.k8s\.io/,
    "hello\n",
  ],
  [
    "v4 by WebSocket",
    ["nettool", "-i", "--protocol", "v4", "--", "head", "-c", "3"],
    0,
    /^hel$/,
    /WebSocket, v4\.channel\.k8s\.io/,
    "hello\n",
  ],
  [
    "v4 says that stdin cannot be closed",
    ["nettool", "-i", "--protocol", "v4", "--", "sh", "-c", "read l; sleep 0.3"],
    0,
    /^$/,
    /v4\.channel\.k8s\.io cannot close it/,
    "hello\n",
  ],
  [
    "-t without a terminal",
    ["nettool", "-it", "--", "cat"],
    0,
    /^hello\n$/,
    /The command gets no terminal: stdin is not a terminal/,
    "hello\n",
  ],
  [
    "frames, each with its channel",
    ["nettool", "-i", "--frames", "--protocol", "spdy", "--", "cat"],
    0,
    /^hello\n$/,
    /> stdin DATA 6 bytes "hello\\n".*< stdout DATA 6 bytes.*< error DATA \d+ bytes/,
    "hello\n",
  ],
  [
    "an unknown pod is the API's error, with what to do",
    ["nosuch", "--", "ls"],
    4,
    /^$/,
    /404 pods "nosuch" not found See which pods there are: kubectl/,
  ],
  [
    "an unknown container",
    ["nettool", "-c", "nosuch", "--", "ls"],
    4,
    /^$/,
    /400 container nosuch is not valid for pod nettool The pod nettool has the containers nettool\./,
  ],
  [
    "a pod that is on no node",
    ["nowhere", "--", "ls"],
    4,
    /^$/,
    /400 pod nowhere does not have a host assigned The pod has no node yet; see the reason: kubectl describe pod nowhere/,
  ],
  [
    "a pod that has ended",
    ["done", "--", "ls"],
    1,
    /^$/,
    /cannot exec into a container in a completed pod; current phase is Succeeded/,
  ],
  [
    "a kubelet that is down",
    ["lost", "--", "ls"],
    3,
    /^$/,
    /dial tcp 127\.0\.0\.1:1: connect: connection refused The kubelet of the pod's node does not answer/,
  ],
  ["a name that is none", ["Nettool", "--", "ls"], 2, /^$/, /"Nettool" is not a pod name/],
  ["no command", ["nettool"], 2, /^$/, /missing required argument 'command'/],
  ["a protocol that is none", ["nettool", "--protocol", "v9", "--", "ls"], 2, /^$/, /Allowed choices are v5, v4, spdy/],
];

const OLD_TUNNEL: Row = [
  "port-forward by a tunnel that the API server does not know",
  ["port-forward", "nginx", ":80", "--protocol", "tunnel"],
  4,
  /^$/,
  /query parameter "port" is required Use --protocol spdy; tunnel needs an API server of 1\.31/,
];

const BY_RELEASE: Readonly<Record<string, readonly Row[]>> = {
  "1.25": [
    [
      "SPDY, as kubectl of that release; and who tells the hops",
      ["nettool", "--", "true"],
      0,
      /^$/,
      /run elsewhere: `kubelab cluster up -v 3` shows their steps(?!.*403 Forbidden).*101 SPDY, v4\.channel\.k8s\.io/,
    ],
    [
      "v5 alone is refused, with what to do",
      ["nettool", "--protocol", "v5", "--", "true"],
      4,
      /^$/,
      /refuse an unknown subprotocol Use --protocol v4 or spdy/,
    ],
  ],
  "1.32": [
    [
      "v5 is translated, and closes stdin",
      ["nettool", "-i", "--", "cat"],
      0,
      /^hello\n$/,
      /101 WebSocket, v5\.channel\.k8s\.io/,
      "hello\n",
    ],
  ],
};

for (const release of ["1.25", "1.32"])
  describe(`kubelab exec on a running cluster of release ${release}`, () => releaseSuite(release));

function releaseSuite(release: string): void {
  let cluster: StreamCluster;
  beforeAll(async () => {
    cluster = await StreamCluster.start(release);
    await makePods(cluster);
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  for (const [title, argv, code, stdout, stderr, stdin] of [...COMMON, ...(BY_RELEASE[release] ?? [])]) {
    test(title, async () => {
      const input = stdin === undefined ? {} : { stdin: Buffer.from(stdin) };
      const ended = await runInProcess(["exec", ...argv], { env: cluster.env, ...input });
      assert.match(flat(ended.stderr), stderr);
      assert.match(ended.stdout, stdout);
      assert.equal(ended.code, code, ended.stderr);
    });
  }

  test("a long list of arguments arrives whole; one that is too long is refused as Go refuses it", async () => {
    const run = (count: number) => {
      const words = Array.from({ length: count }, () => "a".repeat(100_000));
      const argv = ["exec", "nettool", "--protocol", "spdy", "-v", "0", "--", "sh", "-c", 'echo "$*"', "x", ...words];
      return runInProcess(argv, { env: cluster.env });
    };
    assert.equal((await run(9)).stdout.length, 9 * 100_001);
    const { code, stderr } = await run(11);
    assert.match(flat(stderr), /431 Request Header Fields Too Large/);
    assert.equal(code, 4);
  });

  test("Ctrl-C ends it with code 130", async () => {
    const stop = new AbortController();
    const onStderr = (text: string) => {
      if (/101 (SPDY|WebSocket)/.test(flat(text))) stop.abort();
    };
    const options = { env: cluster.env, signal: stop.signal, onStderr };
    assert.equal((await runInProcess(["exec", "nettool", "--", "sleep", "1000"], options)).code, 130);
  });

  test("the newest protocol is tried where the release is not known, and the next where that is refused", async () => {
    const argv = ["exec", "nettool", "--kubeconfig", clusterKubeconfig(cluster.env, "kubelab"), "--", "true"];
    const { code, stderr } = await runInProcess(argv, { env: cluster.env });
    const fallback =
      /403 Forbidden \(no further message\).*try again with SPDY v5 .* was refused.*101 SPDY, v4\.channel\.k8s\.io/;
    assert.match(flat(stderr), release === "1.25" ? fallback : /101 WebSocket, v5\.channel\.k8s\.io/);
    assert.match(flat(stderr), /run elsewhere: their logs show their steps/);
    assert.equal(code, 0, stderr);
  });

  test("the servers of this process report the hops", async () => {
    const auditIds = cluster.events.length;
    cluster.story.follow([]);
    await runInProcess(["exec", "nettool", "--protocol", "spdy", "--", "true"], { env: cluster.env });
    const told = cluster.events.slice(auditIds).filter(({ level }) => level === 1);
    const words = flat(JSON.stringify(told));
    for (const hop of [/Serve POST \/exec\/default\/nettool\/nettool/, /connect the streams to/, /"method":"Exec"/]) {
      assert.match(words, hop);
    }
  });

  const siblings: readonly Row[] = [
    ["logs", ["logs", "nginx"], 0, /start worker processes/, /the log of nginx: ended, \d+ bytes/],
    ["logs --limit-bytes", ["logs", "nginx", "--limit-bytes", "4"], 0, /^\d{4}$/, /ended, 4 bytes/],
    [
      "logs with no limits, as kubectl writes them",
      ["logs", "nginx", "--since", "0s", "--limit-bytes", "0", "--tail", "-1"],
      0,
      /start worker processes/,
      /\/log\?container=nginx [^?]*ended/,
    ],
    ["logs --since rounds", ["logs", "nginx", "--since", "1300ms"], 0, /^/, /sinceSeconds=1 /],
    ["logs --since is a second at least", ["logs", "nginx", "--since", "300ms"], 0, /^/, /sinceSeconds=1 /],
    ["logs of no lines", ["logs", "nginx", "--tail", "0"], 0, /^$/, /tailLines=0.*ended, 0 bytes/],
    [
      "logs of less than no lines",
      ["logs", "nginx", "--tail", "-2"],
      2,
      /^$/,
      /'--tail <lines>' argument '-2' is invalid\. expected a whole number, 0 or more, or -1 for all/,
    ],
    [
      "logs --timestamps --tail --since",
      ["logs", "nginx", "--timestamps", "--tail", "1", "--since", "1h"],
      0,
      /^\d{4}-\d\d-\d\dT.*start worker/,
      /ended/,
    ],
    [
      "logs --previous of a first run",
      ["logs", "nginx", "--previous"],
      4,
      /^$/,
      /400 previous terminated container "nginx" in pod "nginx" not found/,
    ],
    ["a log is no JSON document", ["logs", "nginx", "--json"], 2, /^$/, /unknown option '--json'/],
    ["nor is what a command writes", ["exec", "nginx", "--json", "--", "ls"], 2, /^$/, /unknown option '--json'/],
    ["logs of an unknown pod", ["logs", "nosuch"], 4, /^$/, /404 pods "nosuch" not found/],
    [
      "logs of a kubelet that is down",
      ["logs", "lost"],
      3,
      /^$/,
      /connect: connection refused The kubelet of the pod's node/,
    ],
    ["attach to a pod that has ended", ["attach", "done"], 1, /^$/, /cannot attach a container in a completed pod/],
    ["attach to an unknown pod", ["attach", "nosuch"], 4, /^$/, /404 pods "nosuch" not found/],
    [
      "port-forward to a pod that waits",
      ["port-forward", "nowhere", "80"],
      1,
      /^$/,
      /pod is not running. Current status=Pending/,
    ],
    [
      "port-forward with a port that is none",
      ["port-forward", "nginx", "80:http"],
      2,
      /^$/,
      /the pod nginx has no port named http Its ports have no names/,
    ],
    [
      "port-forward with a name that is none",
      ["port-forward", "nginx", "80:HTTP"],
      2,
      /^$/,
      /"80:HTTP" is not a valid port argument/,
    ],
    [
      "port-forward at a name, which is not looked up",
      ["port-forward", "nginx", ":80", "--address", "host.example"],
      2,
      /^$/,
      /host\.example is not a valid IP/,
    ],
    [
      "port-forward at an address of another machine beside a good one",
      ["port-forward", "nginx", ":80", "--address", "127.0.0.1,192.0.2.1"],
      2,
      /^$/,
      /unable to listen on 192\.0\.2\.1:\d+: /,
    ],
    [
      "port-forward at nothing between commas",
      ["port-forward", "nginx", ":80", "--address", "127.0.0.1,"],
      2,
      /^$/,
      /an empty text is not a valid IP/,
    ],
    [
      "port-forward at an address of another machine",
      ["port-forward", "nginx", ":80", "--address", "192.0.2.1"],
      2,
      /^$/,
      /unable to listen on 192\.0\.2\.1:0: .* Use an address of this machine/,
    ],
    ...(release === "1.25" ? [OLD_TUNNEL] : []),
  ];
  for (const [title, argv, code, stdout, stderr] of siblings) {
    test(title, async () => {
      const ended = await runInProcess(argv, { env: cluster.env });
      assert.match(flat(ended.stderr), stderr);
      assert.match(ended.stdout, stdout);
      assert.equal(ended.code, code, ended.stderr);
    });
  }

  test("port-forward --address: several, each once, with one local port", async () => {
    const stop = new AbortController();
    const flags = ["--address", "127.0.0.2,127.0.0.1", "--address=127.0.0.2"];
    const argv = ["port-forward", "nginx", ":80", ...flags, "--json"];
    const run = async (words: readonly string[]) => {
      const options = { env: cluster.env, signal: stop.signal, onStdout: () => stop.abort() };
      const { stdout } = await runInProcess(words, options);
      return JSON.parse(stdout) as readonly { address: string; local: number }[];
    };
    const opened = await run(argv);
    assert.deepEqual(
      opened.map(({ address }) => address),
      ["127.0.0.2", "127.0.0.1"],
    );
    assert.equal(new Set(opened.map(({ local }) => local)).size, 1);
  });

  test("port-forward --json prints one document, however many ports there are", async () => {
    const stop = new AbortController();
    const argv = ["port-forward", "nginx", ":80", ":81", "--json"];
    // A second document would follow the first at once: both ports listen before anything is printed.
    const options = { env: cluster.env, signal: stop.signal, onStdout: () => stop.abort() };
    const { code, stdout, stderr } = await runInProcess(argv, options);
    assert.equal(code, 130, stderr);
    const opened: readonly { local: number }[] = JSON.parse(stdout);
    assert.ok(opened.every(({ local }) => local > 0));
    const address = "127.0.0.1";
    const want = [80, 81].map((remote, at) => ({ address, local: opened[at]?.local, remote }));
    assert.deepEqual(opened, want);
  });

  for (const protocol of ["spdy", ...(release === "1.32" ? ["tunnel"] : [])]) {
    test(`port-forward over ${protocol}: nginx answers, a port without a listener does not`, async () => {
      const stop = new AbortController();
      const told: string[] = [];
      let open = (_ports: readonly string[]) => {};
      const opened = new Promise<readonly string[]>((resolve) => {
        open = resolve;
      });
      const onStderr = (text: string) => void told.splice(0, told.length, flat(text));
      const onStdout = (text: string) => {
        const ports = [...text.matchAll(/127\.0\.0\.1:(\d+) -> /g)].map((match) => match[1] ?? "");
        if (ports.length === 2) open(ports);
      };
      const options = { env: cluster.env, signal: stop.signal, onStderr, onStdout };
      const running = runInProcess(["port-forward", "nginx", ":80", ":81", "--protocol", protocol], options);
      const [good, bad] = await Promise.race([opened, running.then(({ stderr }) => assert.fail(stderr))]);
      const page = await fetch(`http://127.0.0.1:${good}/`, { headers: { connection: "close" } });
      assert.match(await page.text(), /Welcome to nginx!/);
      await assert.rejects(fetch(`http://127.0.0.1:${bad}/`));
      stop.abort();
      const { code, stderr } = await running;
      assert.equal(code, 130);
      assert.match(flat(stderr), /streams ended: \d+ bytes to the pod, \d+ bytes from it/);
      assert.match(flat(stderr), /an error occurred forwarding to 81: .*connection refused/);
    });
  }
}

/** Pods with and without a node, as their status shows. */
async function makePods({ client }: StreamCluster): Promise<void> {
  const pods = "/api/v1/namespaces/default/pods";
  const node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "gone" },
    status: {
      addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
      daemonEndpoints: { kubeletEndpoint: { Port: 1 } },
    },
  };
  await client.expect({ method: "POST", path: "/api/v1/nodes", body: node });
  const contentType = "application/merge-patch+json";
  const patch = (path: string, body: object) =>
    client.expect({ method: "PATCH", path: `${path}/status`, body, contentType });
  await patch("/api/v1/nodes/gone", { status: node.status });
  const make = (name: string, spec: object) =>
    client.expect({
      method: "POST",
      path: pods,
      body: {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name },
        spec: { containers: [{ name: "c", image: "busybox" }], ...spec },
      },
    });
  await make("nowhere", { nodeSelector: { no: "such" } });
  await make("lost", { nodeName: "gone" });
  await make("done", { nodeName: "gone" });
  await patch(`${pods}/done`, { status: { phase: "Succeeded" } });
}

test("a kubelet whose certificate is from another CA: Go's sentence and a hint", async () => {
  const other = await makeAuthority();
  await using cluster = await StreamCluster.start("1.25", other.certificatePem);
  for (const argv of [
    ["exec", "nettool", "--", "true"],
    ["logs", "nginx"],
  ]) {
    const { code, stderr } = await runInProcess(argv, { env: cluster.env });
    assert.match(
      flat(stderr),
      /x509: certificate signed by unknown authority.* sign it with the CA in the API server's/,
    );
    assert.equal(code, 3);
  }
});

for (const flag of ["kubeconfig", "context", "real", "mock", "cluster", "yes", "container", "namespace"]) {
  test(`exec --cri with --${flag} is refused before the runtime is called`, async () => {
    const value = ["real", "mock", "yes"].includes(flag) ? [] : ["default"];
    const argv = ["exec", "--cri", `unix://${missingPath("x.sock")}`, `--${flag}`, ...value, "main", "--", "ls"];
    const { code, stderr } = await runInProcess(argv);
    assert.match(flat(stderr), new RegExp(`--cri and --${flag} contradict each other Leave out one of them`));
    assert.equal(code, 2);
  });
}

test("on a fresh machine the hint about a refused subprotocol does not depend on the pod's status", async () => {
  const { code, stderr } = await runInProcess(["exec", "nettool", "--protocol", "v5", "--", "ls"]);
  assert.match(flat(stderr), /an unknown subprotocol Use --protocol v4 or spdy; v5 needs/);
  assert.equal(code, 4);
});

test("on a fresh machine a cluster, a node and the pod are started; the error for an unknown pod lists the known ones", async () => {
  const [listed, unknown] = [
    await runInProcess(["exec", "nettool", "--", "ls"]),
    await runInProcess(["exec", "nosuch", "--", "ls"]),
  ];
  assert.match(listed.stdout, /^bin\ndev\n/);
  assert.equal(listed.code, 0, listed.stderr);
  const story = flat(listed.stderr);
  const hops = [
    "kubelab exec on embedded control plane",
    "is kubernetes-admin client certificate",
    "ask the kubelet: POST https://127.0.0.1:",
    "kube-apiserver-kubelet-client (by client certificate",
    "RuntimeService/Exec",
    "connect the streams to http://127.0.0.1:",
    "upgraded to SPDY/3.1, v4.channel.k8s.io",
    "ended, exit code 0; bytes: stdout",
  ];
  let at = 0;
  for (const hop of hops) {
    const found = story.indexOf(hop, at);
    assert.ok(found >= at, `${hop} is not told, or too early:\n${listed.stderr}`);
    at = found;
  }
  assert.deepEqual(
    listed.stderr.split("\n").filter((line) => isTooWide(line, 80)),
    [],
  );
  assert.match(
    flat(unknown.stderr),
    /404 pods "nosuch" not found A cluster that this command starts has only the pods nettool and nginx/,
  );
  assert.equal(unknown.code, 4);
});

describe("a cluster of another process: who shows the servers' steps", () => {
  const table: readonly (readonly [isLab: boolean, note: RegExp])[] = [
    [true, /belong to the lab, whose trace shows their steps/],
    [false, /run elsewhere: `kubelab cluster up -v 3` shows their steps/],
  ];
  for (const [isLab, note] of table) {
    test(isLab ? "the lab does" : "the cluster's terminal does", async () => {
      const folder = mkdtempSync(join(tmpdir(), "kubelab-exec-"));
      const server = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
      try {
        await once(server, "listening");
        const { port } = server.address() as AddressInfo;
        const url = `https://127.0.0.1:${port}`;
        const env = { XDG_STATE_HOME: folder, KUBELAB_CLUSTER: "other" };
        const kubeconfig = join(folder, "kubeconfig");
        const cluster = { name: "c", cluster: { server: url } };
        const config = { clusters: [cluster], contexts: [{ name: "c", context: { cluster: "c", user: "" } }] };
        writeFileSync(kubeconfig, JSON.stringify({ ...config, "current-context": "c" }));
        const state = { version: 1, name: "other", pid: process.pid, url, kubeconfig, isLab } as const;
        await writeClusterState(env, { ...state, kubeVersion: "1.25", speed: 1, nodes: 0 });
        const { stderr } = await runInProcess(["exec", "web", "--", "ls"], { env });
        assert.match(stderr.replace(/\s+/g, " "), note);
      } finally {
        server.close();
        rmSync(folder, { recursive: true });
      }
    });
  }
});
