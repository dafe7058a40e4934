import { expect, test } from "vitest";
import { instrumentedClient } from "../../../src/kubelet/kuberuntime/instrumented-services.js";
import { rpcFailure } from "../../../src/staging/cri/grpc/status.js";
import type { CriClient } from "../../../src/staging/cri/remote/create-cri-client.js";
import { CountedMetrics } from "../../support/counted.js";
import { FakeClock } from "../../support/fake-clock.js";
import { parseMetrics, sampleOf } from "../../support/prometheus.js";

/** Has a private field, as the real one: its methods work on itself only. */
class Runtime {
  readonly #answer: unknown;
  readonly timeoutMs = 120_000;

  constructor(
    readonly clock: FakeClock,
    answer: unknown,
  ) {
    this.#answer = answer;
  }

  async stopContainer(): Promise<unknown> {
    await this.clock.sleep(700, new AbortController().signal);
    if (this.#answer instanceof Error) throw this.#answer;
    return this.#answer;
  }

  async runPodSandbox(): Promise<unknown> {
    return this.stopContainer();
  }

  /** Not a unary call. */
  getContainerEvents(): unknown {
    return this.#answer;
  }
}

function start(answer: unknown) {
  const clock = new FakeClock();
  const metrics = new CountedMetrics();
  const runtime = new Runtime(clock, answer);
  const client = { endpoint: "unix:///x", runtime, images: {}, stats: {} } as unknown as CriClient;
  const counted = instrumentedClient(client, { metrics, clock });
  const signal = new AbortController().signal;
  const read = async () => {
    const families = parseMetrics(await metrics.text());
    const names = ["total", "duration_seconds_sum", "errors_total"];
    const labels = { operation_type: "stop_container" };
    return names.map((name) => sampleOf(families, `kubelet_runtime_operations_${name}`, labels));
  };
  return { clock, counted, metrics, signal, read };
}

const OK = { outcome: "ok", value: undefined };

for (const [what, answer, errors] of [
  ["that succeeds", OK, undefined],
  ["that the runtime refuses", rpcFailure("NotFound", "no such container"), 1],
  ["that is cancelled", new Error("cancelled"), 1],
] as const) {
  test(`a call ${what} is counted and timed${errors === undefined ? "" : ", and is an error"}`, async () => {
    const { clock, counted, signal, read } = start(answer);
    const call = counted.runtime.stopContainer("c1", 0, signal).catch((error: unknown) => error);
    expect(await read()).toEqual([undefined, undefined, undefined]);
    await clock.advance(700);
    expect(await call).toEqual(answer);
    expect(await read()).toEqual([1, 0.7, errors]);
  });
}

test("everything else of the client stays as it is, and is not counted", async () => {
  const { counted, signal, read } = start(OK);
  expect(counted.endpoint).toBe("unix:///x");
  expect(counted.runtime.timeoutMs).toBe(120_000);
  expect(counted.runtime.getContainerEvents(signal)).toBe(OK);
  expect(await read()).toEqual([undefined, undefined, undefined]);
});

for (const [answer, errors] of [
  [OK, []],
  [rpcFailure("Unknown", "no network"), ["runtime_handler=runc 1"]],
] as const) {
  test(`a sandbox that is ${answer.outcome} is counted under the handler of its RuntimeClass as well`, async () => {
    const { clock, counted, metrics, signal } = start(answer);
    const call = counted.runtime.runPodSandbox({}, "runc", signal);
    await clock.advance(700);
    await call;
    expect(await metrics.series("kubelet_run_podsandbox_duration_seconds")).toEqual([
      "runtime_handler=runc count 1",
      "runtime_handler=runc sum 0.7",
    ]);
    expect(await metrics.series("kubelet_run_podsandbox_errors_total")).toEqual(errors);
  });
}
