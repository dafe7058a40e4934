import { memoryUsage } from "node:process";

/** The counters behind /metrics, with upstream's names, in the Prometheus text format. */
export class Metrics {
  readonly #requests = new Map<string, number>();
  #inFlight = 0;
  #watches = 0;

  begin(): void {
    this.#inFlight++;
  }

  end(verb: string, resource: string, code: number): void {
    this.#inFlight--;
    const key = `code="${code}",resource="${resource}",verb="${verb.toUpperCase()}"`;
    this.#requests.set(key, (this.#requests.get(key) ?? 0) + 1);
  }

  watchBegan(): void {
    this.#watches++;
  }

  watchEnded(): void {
    this.#watches--;
  }

  /** @param objects how many objects are stored, by resource */
  render(objects: ReadonlyMap<string, number>): string {
    const lines = [
      "# HELP apiserver_current_inflight_requests Requests in progress.",
      "# TYPE apiserver_current_inflight_requests gauge",
      `apiserver_current_inflight_requests ${this.#inFlight}`,
      "# HELP apiserver_longrunning_requests Open watches.",
      "# TYPE apiserver_longrunning_requests gauge",
      `apiserver_longrunning_requests{verb="WATCH"} ${this.#watches}`,
      "# HELP apiserver_request_total Requests answered, by verb, resource and code.",
      "# TYPE apiserver_request_total counter",
    ];
    for (const [labels, count] of [...this.#requests].sort()) lines.push(`apiserver_request_total{${labels}} ${count}`);
    lines.push(
      "# HELP apiserver_storage_objects Stored objects, by resource.",
      "# TYPE apiserver_storage_objects gauge",
    );
    for (const [resource, count] of objects) lines.push(`apiserver_storage_objects{resource="${resource}"} ${count}`);
    const { heapUsed, rss } = memoryUsage();
    lines.push(
      "# HELP process_resident_memory_bytes Resident memory of the whole process.",
      "# TYPE process_resident_memory_bytes gauge",
      `process_resident_memory_bytes ${rss}`,
      "# HELP nodejs_heap_used_bytes Memory in use by JavaScript objects.",
      "# TYPE nodejs_heap_used_bytes gauge",
      `nodejs_heap_used_bytes ${heapUsed}`,
    );
    return `${lines.join("\n")}\n`;
  }
}
