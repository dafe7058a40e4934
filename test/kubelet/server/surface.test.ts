import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { setDefaults } from "../../../src/kubelet/apis/config/defaults.js";
import type { KubeletConfigurationFields } from "../../../src/kubelet/apis/config/fields.js";
import { openPlainServers, type PortOptions } from "../../../src/kubelet/app/plain-servers.js";
import { READ_ONLY_SURFACE, type ServerSurface } from "../../../src/kubelet/server/routes.js";
import { KubeletServer } from "../../../src/kubelet/server/server.js";
import { listen, portOf } from "../../../src/staging/server/serve.js";
import { FakeClock } from "../../support/fake-clock.js";
import { only, recordingTrace } from "../../support/trace.js";
import { FakeHost } from "./fake-host.js";

const clock = new FakeClock();

/** `200 ok` */
async function get(url: string): Promise<string> {
  const answer = await fetch(url, { redirect: "manual" });
  return `${answer.status} ${await answer.text()}`;
}

describe("what a kubelet's server serves", () => {
  const disabled = "405 Debug endpoints are disabled.\n";
  const missing = "404 404 page not found\n";
  const table: readonly [string, ServerSurface, string, string][] = [
    ["the read-only port", READ_ONLY_SURFACE, "/healthz", "200 ok"],
    ["the read-only port", READ_ONLY_SURFACE, "/exec/default/web/c", disabled],
    ["the read-only port", READ_ONLY_SURFACE, "/run/x", disabled],
    ["the read-only port", READ_ONLY_SURFACE, "/containerLogs/default/web/c", disabled],
    ["the read-only port", READ_ONLY_SURFACE, "/runningpods/", disabled],
    ["the read-only port", READ_ONLY_SURFACE, "/logs/", disabled],
    ["the read-only port", READ_ONLY_SURFACE, "/debug/pprof/", disabled],
    ["the read-only port", READ_ONLY_SURFACE, "/exec", "301 "],
    ["the read-only port", READ_ONLY_SURFACE, "/configz", missing],
    ["the read-only port", READ_ONLY_SURFACE, "/debug/flags/v", missing],
    [
      "without enableSystemLogHandler",
      { debugging: true, systemLogs: false },
      "/logs/",
      "405 logs endpoint is disabled.\n",
    ],
    ["without enableSystemLogHandler", { debugging: true, systemLogs: false }, "/runningpods/", runningPods()],
  ];
  for (const [what, surface, path, want] of table) {
    test(`${what}: ${path} is ${JSON.stringify(want)}`, async () => {
      const { trace } = recordingTrace(clock);
      const options = { port: 0, transport: "http" } as const;
      await using server = await KubeletServer.listen({ host: new FakeHost(), clock, trace, surface }, options);
      assert.equal(await get(`${server.url}${path}`), want);
    });
  }

  test("/spec/ is 404, and the trace says since when", async () => {
    const { trace, events } = recordingTrace(clock);
    const options = { port: 0, transport: "http" } as const;
    await using server = await KubeletServer.listen({ host: new FakeHost(), clock, trace }, options);
    assert.equal(await get(`${server.url}/spec/`), missing);
    assert.match(only(events, "decision")[0]?.why ?? "", /off since v1.18 and gone since v1.21/);
  });
});

function runningPods(): string {
  return '200 {"kind":"PodList","apiVersion":"v1","metadata":{},"items":null}\n';
}

describe("/logs/", () => {
  const folder = mkdtempSync(join(tmpdir(), "kubelab-logs-"));
  mkdirSync(join(folder, "pods", "a&b"), { recursive: true });
  writeFileSync(join(folder, "pods", "0.log"), "hello\n");
  writeFileSync(join(folder, "empty.log"), "");
  symlinkSync("/etc/passwd", join(folder, "out"));
  let server: KubeletServer;
  beforeAll(async () => {
    const { trace } = recordingTrace(clock);
    const host = Object.assign(new FakeHost(), { logsFolder: folder });
    server = await KubeletServer.listen({ host, clock, trace }, { port: 0, transport: "http" });
  });
  afterAll(() => server.close());

  const table = [
    [
      "/logs/",
      '200 <pre>\n<a href="empty.log">empty.log</a>\n<a href="out">out</a>\n<a href="pods/">pods/</a>\n</pre>\n',
    ],
    ["/logs/pods/", '200 <pre>\n<a href="0.log">0.log</a>\n<a href="a&b/">a&amp;b/</a>\n</pre>\n'],
    ["/logs/pods", "301 "],
    ["/logs/pods/0.log", "200 hello\n"],
    ["/logs/pods/0.log/", "301 "],
    ["/logs/empty.log", "200 "],
    ["/logs/none", "404 404 page not found\n"],
    ["/logs/out", "404 404 page not found\n"],
    ["/logs/%00", "404 404 page not found\n"],
    ["/logs/..%2f..%2fetc%2fpasswd", "301 "],
  ] as const;
  for (const [path, want] of table) {
    test(`${path} is ${JSON.stringify(want)}`, async () => assert.equal(await get(`${server.url}${path}`), want));
  }
});

describe("the ports without TLS", () => {
  const open = (fields: KubeletConfigurationFields, options: PortOptions) => {
    const { trace } = recordingTrace(clock);
    return openPlainServers({ host: new FakeHost(), clock, trace }, setDefaults(fields, "1.25"), options);
  };

  test("health answers ping, and nothing else; there is no read-only port by default", async () => {
    const servers = await open({}, { port: 0 });
    const url = `http://127.0.0.1:${servers.healthzPort}`;
    assert.equal(await get(`${url}/healthz`), "200 ok");
    assert.equal(await get(`${url}/healthz?verbose`), "200 [+]ping ok\nhealthz check passed\n");
    assert.equal(await get(`${url}/healthz/ping`), "200 ok");
    assert.equal(await get(`${url}/healthz/syncloop`), "404 404 page not found\n");
    assert.equal(await get(`${url}/pods`), "404 404 page not found\n");
    assert.equal(servers.readOnlyPort, undefined);
    await servers.close();
    await assert.rejects(get(`${url}/healthz`));
  });

  test("0 switches health off, and a number the read-only port on", async () => {
    const servers = await open({ healthzPort: 0, readOnlyPort: 10_255 }, { port: 0 });
    assert.equal(servers.healthzPort, undefined);
    assert.match(await get(`http://127.0.0.1:${servers.readOnlyPort}/pods`), /^200 \{"kind":"PodList"/);
    await servers.close();
  });

  test("a port that is taken is an error if it was asked for, and replaced if not", async () => {
    const other = createServer();
    await listen(other, "127.0.0.1", 0);
    const taken = portOf(other);
    const servers = await open({ healthzPort: taken }, {});
    assert.notEqual(servers.healthzPort, taken);
    await servers.close();
    await assert.rejects(open({ healthzPort: taken }, { fixedPorts: ["healthzPort"] }), {
      code: "USAGE",
      message: `the kubelet's health server cannot listen at 127.0.0.1:${taken}: the port is taken`,
    });
    const named = open({ healthzPort: 0, readOnlyPort: taken }, { port: 0, fixedPorts: ["port", "readOnlyPort"] });
    await assert.rejects(named, { code: "USAGE" }, "also with a free port for the kubelet itself");
    const readOnly = open({ healthzPort: 0, readOnlyPort: taken }, { fixedPorts: ["readOnlyPort"] });
    const message = `the kubelet's read-only server cannot listen at 127.0.0.1:${taken}: the port is taken`;
    await assert.rejects(readOnly, { code: "USAGE", message });
    await new Promise((resolve) => other.close(resolve));
  });
});
