/** What a definition's `inject` may name; `injections.ts` does them. */
export const INJECTIONS: ReadonlySet<string> = new Set([
  /** `minutes` of the lab's clock go by */
  "time-passes",
  "runtime-condition",
  "runtime-fault",
  "kill-container",
  "sandbox-not-ready",
  "remove-container",
  "pull-fault",
  "speed",
]);
