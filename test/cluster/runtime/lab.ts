import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ExecResult, execSync } from "../../../src/cluster/runtime/calls/exec.js";
import { createRuntime, type RuntimeOptions } from "../../../src/cluster/runtime/start.js";
import type { Container, Sandbox } from "../../../src/cluster/runtime/state/container.js";
import { Containers } from "../../../src/cluster/runtime/state/containers.js";
import { Sandboxes } from "../../../src/cluster/runtime/state/sandboxes.js";
import type { Init } from "../../../src/staging/apimachinery/protobuf/fields.js";
import type { ContainerConfig } from "../../../src/staging/cri/messages/container.js";
import { ContainerConfig as ContainerConfigMessage } from "../../../src/staging/cri/messages/container.js";
import { NamespaceMode } from "../../../src/staging/cri/messages/enums.js";
import { PodSandboxConfig } from "../../../src/staging/cri/messages/sandbox.js";
import { SystemRandom } from "../../../src/util/random.js";
import { FakeClock, settle } from "../../support/fake-clock.js";
import { missingPath } from "../../support/missing-path.js";
import { recordingTrace } from "../../support/trace.js";

export const never = new AbortController().signal;

/** A folder for one test. */
export function newFolder(): string {
  return mkdtempSync(join(tmpdir(), "kubelab-runtime-test-"));
}

/** An embedded runtime without a server, on a clock that the test moves. */
export class RuntimeLab {
  readonly clock = new FakeClock();
  readonly recorded = recordingTrace(this.clock);
  readonly runtime;
  readonly core;
  readonly containers;
  readonly sandboxes;
  #count = 0;

  constructor(options: Partial<RuntimeOptions> = {}) {
    const deps = { clock: this.clock, random: new SystemRandom(), trace: this.recorded.trace };
    this.runtime = createRuntime(
      { ...deps, images: ["agnhost", "busybox", "httpd", "nginx", "stress"], ...options },
      missingPath(),
    );
    this.core = this.runtime.core;
    this.containers = new Containers(this.core);
    this.sandboxes = new Sandboxes(this.core, this.containers);
  }

  sandbox(more: Init<typeof PodSandboxConfig> = {}): Sandbox {
    this.#count++;
    const metadata = { name: `pod-${this.#count}`, namespace: "default", uid: `uid-${this.#count}`, attempt: 0 };
    return this.sandboxes.run(PodSandboxConfig.create({ metadata, ...more }), "");
  }

  create(more: Init<typeof ContainerConfig> = {}, sandbox = this.sandbox()): Container {
    this.#count++;
    const config = ContainerConfigMessage.create({
      metadata: { name: `c-${this.#count}` },
      image: { image: "busybox" },
      linux: { securityContext: { namespaceOptions: { pid: NamespaceMode.CONTAINER } } },
      ...more,
    });
    return this.containers.create(sandbox, config, undefined);
  }

  run(more: Init<typeof ContainerConfig> = {}, sandbox = this.sandbox()): Container {
    const container = this.create(more, sandbox);
    this.containers.start(container);
    return container;
  }

  /** Collects a container's output from now on. */
  output(container: Container, wanted: "stdout" | "stderr" = "stdout"): () => string {
    let text = "";
    container.running?.listen((stream, bytes) => {
      if (stream === wanted) text += Buffer.from(bytes).toString();
    });
    return () => text;
  }

  /** Runs a script in a new container; the clock stands still unless the test moves it. */
  async sh(script: string, container?: Container): Promise<ExecResult> {
    const home = container ?? this.run({ command: ["sleep", "infinity"] });
    const running = home.running;
    assert.ok(running !== undefined);
    return execSync(running, { cmd: ["sh", "-c", script], timeout: 0n }, this.clock, never);
  }

  /** Runs everything that needs no clock. */
  async settle(): Promise<void> {
    await loadPrograms();
    await settle(10);
  }

  stop(): void {
    this.runtime.stop();
  }
}

/** Some programs are loaded on first use. That takes real time, which a fake clock does not measure. */
export async function loadPrograms(): Promise<void> {
  await Promise.all([
    import("just-bash"),
    import("../../../src/cluster/shell/language/syntax/parser.js"),
    import("../../../src/cluster/shell/language/run.js"),
    import("../../../src/cluster/shell/language/utilities.js"),
    import("../../../src/cluster/shell/language/as-program.js"),
    import("../../../src/cluster/shell/programs/agnhost/agnhost.js"),
    import("../../../src/cluster/shell/programs/bytes/cmp.js"),
    import("../../../src/cluster/shell/programs/bytes/dd.js"),
    import("../../../src/cluster/shell/programs/bytes/digest.js"),
    import("../../../src/cluster/shell/programs/bytes/dump.js"),
    import("../../../src/cluster/shell/programs/bytes/zip.js"),
    import("../../../src/cluster/shell/programs/agnhost/grpc-health-checking.js"),
    import("../../../src/cluster/shell/programs/agnhost/http-echo.js"),
    import("../../../src/cluster/shell/programs/web/httpd.js"),
    import("../../../src/cluster/shell/programs/coredns.js"),
    import("../../../src/cluster/shell/programs/web/busybox-httpd.js"),
    import("../../../src/cluster/shell/programs/web/nginx.js"),
    import("../../../src/cluster/shell/programs/web/php-apache.js"),
    import("../../../src/cluster/shell/programs/net/curl.js"),
    import("../../../src/cluster/shell/programs/net/dig.js"),
    import("../../../src/cluster/shell/programs/net/nc.js"),
    import("../../../src/cluster/shell/programs/net/wget.js"),
    import("../../../src/cluster/shell/programs/stress.js"),
  ]);
}

/** `exited (0, Completed)` */
export function stateOf({ phase }: Container): string {
  return phase.state === "exited" ? `exited (${phase.exitCode}, ${phase.reason})` : phase.state;
}
