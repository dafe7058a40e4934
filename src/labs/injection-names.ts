/** What a definition's `inject` may name; `injections.ts` does them. */
export const INJECTIONS: ReadonlySet<string> = new Set([
  "runtime-condition",
  "runtime-fault",
  "kill-container",
  "sandbox-not-ready",
  "remove-container",
  "pull-fault",
  "speed",
]);
